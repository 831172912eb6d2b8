"""Generated data, extracted from the kernel's tables: the numbers of system calls that system_calls.py refuses.

Kernel: Linux 6.10. Each call has its number on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl) and its number on arm64
and riscv64 (include/uapi/asm-generic/unistd.h); -1: that machine has no such call. The kernel never changes a number;
newer kernels only add calls after NEWEST. A test compares the table with the system's own headers.
"""

from __future__ import annotations

NEWEST = 462  # mseal, the last call of this kernel

REFUSED = """
socket 41 198; connect 42 203; bind 49 200
fork 57 -1; vfork 58 -1; ptrace 101 117; process_vm_readv 310 270; process_vm_writev 311 271; process_madvise 440 440
kcmp 312 272; process_mrelease 448 448; tkill 200 130; rt_sigqueueinfo 129 138; rt_tgsigqueueinfo 297 240
pidfd_open 434 434; pidfd_send_signal 424 424; pidfd_getfd 438 438; setpriority 141 140; ioprio_set 251 30
migrate_pages 256 238; move_pages 279 239
chmod 90 -1; fchmod 91 52; fchmodat 268 53; fchmodat2 452 452; chown 92 -1; fchown 93 55; lchown 94 -1
fchownat 260 54; utime 132 -1; utimes 235 -1; futimesat 261 -1; utimensat 280 88; setxattr 188 5; lsetxattr 189 6
fsetxattr 190 7; removexattr 197 14; lremovexattr 198 15; fremovexattr 199 16; open_by_handle_at 304 265
memfd_create 319 279; memfd_secret 447 447; shmget 29 194; msgget 68 186; semget 64 190; mq_open 240 180
mq_unlink 241 181; shmat 30 196; shmctl 31 195; semop 65 193; semtimedop 220 192; semctl 66 191; msgsnd 69 189
msgrcv 70 188; msgctl 71 187
mount 165 40; umount2 166 39; pivot_root 155 41; chroot 161 51; open_tree 428 428; move_mount 429 429
fsopen 430 430; fsconfig 431 431; fsmount 432 432; fspick 433 433; mount_setattr 442 442; unshare 272 97
setns 308 268; io_uring_setup 425 425; io_uring_enter 426 426; io_uring_register 427 427; bpf 321 280
perf_event_open 298 241; keyctl 250 219; add_key 248 217; request_key 249 218; userfaultfd 323 282
fanotify_init 300 262; init_module 175 105; finit_module 313 273; delete_module 176 106; kexec_load 246 104
kexec_file_load 320 294; reboot 169 142; swapon 167 224; swapoff 168 225; settimeofday 164 170
clock_settime 227 112; adjtimex 159 171; clock_adjtime 305 266; sethostname 170 161; setdomainname 171 162
acct 163 89; quotactl 179 60; quotactl_fd 443 443; syslog 103 116; vhangup 153 58; iopl 172 -1; ioperm 173 -1
"""
SOMETIMES_REFUSED = """
clone 56 220; clone3 435 435; socketpair 53 199; prctl 157 167; fcntl 72 25; ioctl 16 29; kill 62 129; tgkill 234 131
prlimit64 302 261; sched_setaffinity 203 122; sched_setscheduler 144 119; sched_setparam 142 118; sched_setattr 314 274
"""


def numbers(table: str) -> dict[str, tuple[int, int]]:
    """Call -> its numbers on x86-64 and elsewhere."""
    rows = [row.split() for row in table.replace("\n", ";").split(";") if row.strip()]
    return {name: (int(x86_64), int(elsewhere)) for name, x86_64, elsewhere in rows}
