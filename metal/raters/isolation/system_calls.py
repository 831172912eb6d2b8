"""Linux: system calls that this process and all it starts can make no more (seccomp).

Files are Landlock's business (files.py); this closes what it leaves open: sockets of every kind, other
processes, owners, permissions and dates of files, memory that no limit counts, and what an administrator may do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

PR_SET_SECCOMP, FILTER = 22, 2
CLONE_THREAD = 0x10000
SOCK_STREAM, SOCKET_TYPES = 1, 0xF
PR_SET_PDEATHSIG = 1
X32 = 0x40000000  # x86-64 has each call a second time under this bit
NEWEST = 462  # calls after this one are unknown here, and so refused

# By machine: what the kernel calls it, and which column of the table below holds its numbers.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}

# Refused whatever their arguments: name, number on x86-64, number elsewhere; -1 where there is none.
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
CLONE, CLONE3, SOCKETPAIR = (56, 220), (435, 435), (53, 199)
# Refused where one argument, by its place, is one of these values.
REFUSED_VALUES = (
    ((157, 167), 0, (PR_SET_PDEATHSIG,)),  # prctl: to outlive the parent
    ((72, 25), 1, (8, 15)),  # fcntl: F_SETOWN, F_SETOWN_EX, by which the kernel sends signals to others
    ((16, 29), 1, (0x8901, 0x8902, 0x5412, 0x541C)),  # ioctl: FIOSETOWN, SIOCSPGRP, the same; typing into a terminal
)
# Made for this process only: their first argument is a process, 0 for oneself where the second field says so.
ONESELF = (
    ((62, 129), False),  # kill
    ((234, 131), False),  # tgkill
    ((302, 261), True),  # prlimit64
    ((203, 122), True),  # sched_setaffinity
    ((144, 119), True),  # sched_setscheduler
    ((142, 118), True),  # sched_setparam
    ((314, 274), True),  # sched_setattr
)

LOAD, AND, RETURN = 0x20, 0x54, 0x06
EQUAL, AT_LEAST, ANY_BIT = 0x15, 0x35, 0x45
NUMBER_AT, MACHINE_AT = 0, 4
ALLOW, KILL = 0x7FFF0000, 0x80000000

Instruction = tuple[int, int, int, int]  # code, where to go if true and if false (instructions to skip), operand


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse_system_calls() -> bool:
    """Refuse them from now on; False where this system cannot. The process must have given up new privileges."""
    known = MACHINES.get(platform.machine())
    if known is None:
        return False
    instructions = filter_for(*known, os.getpid())
    packed = b"".join(struct.pack("=HBBI", *one) for one in instructions)
    program = _Program(len(instructions), packed)
    found: int = ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0)
    return found == 0


def filter_for(machine: int, column: int, process: int) -> list[Instruction]:
    """The filter of a machine for a process: what the kernel goes through at each system call."""
    refuse = _error(errno.EPERM)
    lines = [
        (LOAD, 0, 0, MACHINE_AT),
        (EQUAL, 1, 0, machine),
        (RETURN, 0, 0, KILL),  # calls of another machine's kind have other numbers
        (LOAD, 0, 0, NUMBER_AT),
        (AT_LEAST, 0, 1, NEWEST + 1),  # X32 is among them
        _error(errno.ENOSYS),
        *_when(CLONE3[column], [_error(errno.ENOSYS)]),  # its flags cannot be seen; the C library falls back to clone
        *_when(CLONE[column], [(LOAD, 0, 0, _argument(0)), (ANY_BIT, 1, 0, CLONE_THREAD), refuse]),
        *_when(
            SOCKETPAIR[column],  # of the kinds of pairs, streams alone cannot send to anyone else
            [(LOAD, 0, 0, _argument(1)), (AND, 0, 0, SOCKET_TYPES), (EQUAL, 1, 0, SOCK_STREAM), refuse],
        ),
    ]
    for numbers, place, values in REFUSED_VALUES:
        last = len(values) - 1
        tests = [(EQUAL, last - at, at == last, value) for at, value in enumerate(values)]
        lines += _when(numbers[column], [(LOAD, 0, 0, _argument(place)), *tests, refuse])
    for numbers, zero in ONESELF:
        mine = process if not zero else 0
        check = [(LOAD, 0, 0, _argument(0)), (EQUAL, 2, 0, mine), (EQUAL, 1, 0, process), refuse]
        lines += _when(numbers[column], check)
    for line in REFUSED.replace("\n", ";").split(";"):
        if fields := line.split():
            number = int(fields[1 + column])
            lines += _when(number, [refuse]) if number >= 0 else []
    return [*lines, (RETURN, 0, 0, ALLOW)]


def _when(number: int, then: list[Instruction]) -> list[Instruction]:
    """Instructions for one system call. Those that do not end in an answer end in permission."""
    block = [*then, (RETURN, 0, 0, ALLOW)]
    return [(EQUAL, 0, len(block), number), *block]


def _error(number: int) -> Instruction:
    return (RETURN, 0, 0, 0x00050000 | number)


def _argument(place: int) -> int:
    """Where the lower half of an argument lies; all machines above are little-endian."""
    return 16 + 8 * place
