"""Linux: the system calls that this process and all its threads give up for good (seccomp).

The filter closes what Landlock leaves open (kernel.py). If a program has no file system of its own,
its calls that make files, folders and links are also counted. Before each such call, the kernel
asks the process that holds the filter's listener (disk.py).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence

from metal.raters.isolation.kernel import PR_SET_PDEATHSIG, libc, system_call
from metal.raters.isolation.limits import Disk

PR_SET_SECCOMP = 22

# Generated, extracted from the tables of Linux 6.10: the numbers of the system calls that are
# refused. Each call has
# its number on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl) and its number on arm64 and riscv64
# (include/uapi/asm-generic/unistd.h); -1: that machine has no such call. The kernel never changes a
# number; newer
# kernels only add calls after NEWEST. A test compares the table with the system's own headers.
NEWEST = 462  # mseal, the last call of this kernel

REFUSED = """
socket 41 198; connect 42 203; bind 49 200
fork 57 -1; vfork 58 -1; ptrace 101 117; process_vm_readv 310 270; process_vm_writev 311 271
process_madvise 440 440
kcmp 312 272; process_mrelease 448 448; tkill 200 130; rt_sigqueueinfo 129 138
rt_tgsigqueueinfo 297 240
pidfd_open 434 434; pidfd_send_signal 424 424; pidfd_getfd 438 438; setpriority 141 140
ioprio_set 251 30
migrate_pages 256 238; move_pages 279 239
chmod 90 -1; fchmod 91 52; fchmodat 268 53; fchmodat2 452 452; chown 92 -1; fchown 93 55
lchown 94 -1
fchownat 260 54; utime 132 -1; utimes 235 -1; futimesat 261 -1; utimensat 280 88; setxattr 188 5
lsetxattr 189 6
fsetxattr 190 7; removexattr 197 14; lremovexattr 198 15; fremovexattr 199 16
open_by_handle_at 304 265
memfd_create 319 279; memfd_secret 447 447; shmget 29 194; msgget 68 186; semget 64 190
mq_open 240 180
mq_unlink 241 181; shmat 30 196; shmctl 31 195; semop 65 193; semtimedop 220 192; semctl 66 191
msgsnd 69 189
msgrcv 70 188; msgctl 71 187
mount 165 40; umount2 166 39; pivot_root 155 41; chroot 161 51; open_tree 428 428
move_mount 429 429
fsopen 430 430; fsconfig 431 431; fsmount 432 432; fspick 433 433; mount_setattr 442 442
unshare 272 97
setns 308 268; io_uring_setup 425 425; io_uring_enter 426 426; io_uring_register 427 427
bpf 321 280
perf_event_open 298 241; keyctl 250 219; add_key 248 217; request_key 249 218; userfaultfd 323 282
fanotify_init 300 262; init_module 175 105; finit_module 313 273; delete_module 176 106
kexec_load 246 104
kexec_file_load 320 294; reboot 169 142; swapon 167 224; swapoff 168 225; settimeofday 164 170
clock_settime 227 112; adjtimex 159 171; clock_adjtime 305 266; sethostname 170 161
setdomainname 171 162
inotify_add_watch 254 27; sync 162 81; syncfs 306 267
acct 163 89; quotactl 179 60; quotactl_fd 443 443; syslog 103 116; vhangup 153 58; iopl 172 -1
ioperm 173 -1
"""
SOMETIMES_REFUSED = """
clone 56 220; clone3 435 435; socketpair 53 199; prctl 157 167; fcntl 72 25; ioctl 16 29
kill 62 129; tgkill 234 131
open 2 -1; openat 257 56; openat2 437 437; creat 85 -1; mknod 133 -1; mknodat 259 33; mkdir 83 -1
mkdirat 258 34; symlink 88 -1; symlinkat 266 36; link 86 -1; linkat 265 37; renameat2 316 276
fallocate 285 47
prlimit64 302 261; sched_setaffinity 203 122; sched_setscheduler 144 119; sched_setparam 142 118
sched_setattr 314 274
"""


def numbers(table: str) -> dict[str, tuple[int, int]]:
    """Name of a call -> its numbers on x86-64 and on other machines."""
    rows = [row.split() for row in table.replace("\n", ";").split(";") if row.strip()]
    return {name: (int(x86_64), int(elsewhere)) for name, x86_64, elsewhere in rows}


def numbers_here(*calls: str) -> set[int]:
    """The numbers that some calls of SOMETIMES_REFUSED have on this machine."""
    _, column = MACHINES[platform.machine()]
    return {SOMETIMES[call][column] for call in calls}


SECCOMP_FILTER = 2
CLONE_THREAD = 0x10000
SOCK_STREAM, SOCKET_TYPES = 1, 0xF

# By machine: what the kernel calls it, and which of a call's two numbers it has (see REFUSED).
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}

SOMETIMES = numbers(SOMETIMES_REFUSED)
# Refused where one argument, by its place, is one of these values.
REFUSED_VALUES = (
    ("prctl", 0, (PR_SET_PDEATHSIG,)),  # to outlive the parent
    ("fcntl", 1, (8, 15)),  # F_SETOWN, F_SETOWN_EX, by which the kernel sends signals to others
    ("renameat2", 4, (4, 5)),  # RENAME_WHITEOUT, which leaves a new file under the old name
)
# FIOSETOWN and SIOCSPGRP, which are F_SETOWN again; typing into a terminal.
REFUSED_CONTROLS = (0x8901, 0x8902, 0x5412, 0x541C)
# The kind of an ioctl. Those of file systems are refused: some write past every limit.
CONTROLS, OF_TERMINALS = 0xFF00, 0x5400
# Calls that make files, folders or links: where their flags and their mode are among the arguments.
MAKING: dict[str, tuple[int | None, int | None]] = {
    "open": (1, 2),
    "openat": (2, 3),
    "creat": (None, 1),
    "mknod": (None, 1),
    "mknodat": (None, 2),
    **dict.fromkeys(("mkdir", "mkdirat", "symlink", "symlinkat", "link", "linkat"), (None, None)),
}
MAKES_A_FILE = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE
RUNS_AS_ITS_OWNER = 0o6000  # setuid, setgid
# Allowed for this process only. Their first argument is a process; True: 0 stands for the process
# itself.
ONLY_ITSELF = {
    "kill": False,
    "tgkill": False,
    "prlimit64": True,
    "sched_setaffinity": True,
    "sched_setscheduler": True,
    "sched_setparam": True,
    "sched_setattr": True,
}

LOAD, AND, RETURN = 0x20, 0x54, 0x06
EQUAL, AT_LEAST, ANY_BIT = 0x15, 0x35, 0x45
NUMBER_AT, MACHINE_AT = 0, 4
ALLOW, KILL, ASK = 0x7FFF0000, 0x80000000, 0x7FC00000
WITH_LISTENER, SET_FILTER = 1 << 3, 1
SECCOMP = (317, 277)  # the call itself, on x86-64 and elsewhere

# code, where to go if true and if false (instructions to skip), operand
Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse_system_calls(disk: Disk) -> bool:
    """Refuse the forbidden system calls from now on. Return False if this system cannot do so.

    If nothing may be written, calls that make folders and links are refused as well. The process
    must have given up new privileges.
    """
    machine = MACHINES.get(platform.machine())
    if machine is None:
        return False
    program = _packed(filter_for(*machine, os.getpid(), disk))
    result: int = libc().prctl(PR_SET_SECCOMP, SECCOMP_FILTER, ctypes.byref(program), 0, 0)
    return result == 0


def refuse_and_count() -> int | None:
    """Refuse the forbidden system calls, and have the kernel ask before each call that makes a
    file, folder or link.

    Returns the descriptor on which the kernel asks; None if this system cannot do so, and nothing
    was done.
    """
    machine = MACHINES.get(platform.machine())
    if machine is None:
        return None
    program = _packed(filter_for(*machine, os.getpid(), Disk.COUNTED))
    address = ctypes.addressof(program)
    listener = system_call(SECCOMP[machine[1]], SET_FILTER, WITH_LISTENER, address)
    return listener if listener >= 0 else None


def _packed(instructions: list[Instruction]) -> _Program:
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    return _Program(len(instructions), packed)


def filter_for(machine: int, column: int, process: int, disk: Disk) -> list[Instruction]:
    """The filter for a process: the instructions that the kernel runs at each system call.

    machine: the kernel's name for the machine. column: which of a call's two numbers applies on
    this machine. disk: where the process may write; if files are counted, the kernel asks about
    calls that make a file, folder or link.
    """
    refuse = _error(errno.EPERM)
    program = [
        (LOAD, 0, 0, MACHINE_AT),
        (EQUAL, 1, 0, machine),
        (RETURN, 0, 0, KILL),  # calls of another machine's kind have other numbers
        (LOAD, 0, 0, NUMBER_AT),
        (AT_LEAST, 0, 1, NEWEST + 1),  # x86-64's second set of calls (X32) is among them
        _error(errno.ENOSYS),
        # The flags of clone3 cannot be seen; where there is none, the C library falls back to
        # clone.
        *_when(SOMETIMES["clone3"][column], [_error(errno.ENOSYS)]),
        *_when(SOMETIMES["openat2"][column], [_error(errno.ENOSYS)]),  # as for clone3, with openat
        # It allocates beyond a file's end whatever the limit; the C library falls back to writing.
        *_when(SOMETIMES["fallocate"][column], [_error(errno.EOPNOTSUPP)]),
        *_when(
            SOMETIMES["clone"][column],  # threads, but no processes
            [(LOAD, 0, 0, _argument(0)), (ANY_BIT, 1, 0, CLONE_THREAD), refuse],
        ),
        *_when(
            # of the kinds of pairs, only streams cannot send to anyone else
            SOMETIMES["socketpair"][column],
            [
                (LOAD, 0, 0, _argument(1)),
                (AND, 0, 0, SOCKET_TYPES),
                (EQUAL, 1, 0, SOCK_STREAM),
                refuse,
            ],
        ),
    ]
    for name, argument, values in REFUSED_VALUES:
        program += _when(
            SOMETIMES[name][column], [(LOAD, 0, 0, _argument(argument)), *_any_of(values), refuse]
        )
    for name, (flags_at, mode_at) in MAKING.items():
        answer = (RETURN, 0, 0, ASK if disk is Disk.COUNTED else ALLOW)
        if disk is Disk.NONE and mode_at is None:  # opening is left: /dev/null is opened so, too
            answer = refuse
        if SOMETIMES[name][column] >= 0:
            program += _when(SOMETIMES[name][column], _making(flags_at, mode_at, answer))
    controls = [
        *((LOAD, 0, 0, _argument(1)), *_any_of(REFUSED_CONTROLS), refuse),
        *((AND, 0, 0, CONTROLS), (EQUAL, 1, 0, OF_TERMINALS), _error(errno.ENOTTY)),
    ]
    program += _when(SOMETIMES["ioctl"][column], controls)
    for name, zero_is_itself in ONLY_ITSELF.items():
        also_allowed = 0 if zero_is_itself else process
        tests = [(EQUAL, 2, 0, also_allowed), (EQUAL, 1, 0, process)]
        program += _when(SOMETIMES[name][column], [(LOAD, 0, 0, _argument(0)), *tests, refuse])
    for by_machine in numbers(REFUSED).values():
        if by_machine[column] >= 0:
            program += _when(by_machine[column], [refuse])
    return [*program, (RETURN, 0, 0, ALLOW)]


def _making(flags_at: int | None, mode_at: int | None, answer: Instruction) -> list[Instruction]:
    """Instructions for a call that may make a file. A call that only opens a file is allowed."""
    instructions: list[Instruction] = []
    if flags_at is not None:
        load = (LOAD, 0, 0, _argument(flags_at))
        instructions += [load, (ANY_BIT, 1, 0, MAKES_A_FILE), (RETURN, 0, 0, ALLOW)]
    if mode_at is not None:
        load = (LOAD, 0, 0, _argument(mode_at))
        instructions += [load, (ANY_BIT, 0, 1, RUNS_AS_ITS_OWNER), _error(errno.EPERM)]
    return [*instructions, answer]


def _any_of(values: Sequence[int]) -> list[Instruction]:
    """Go on with the next instruction if the loaded value is one of these; otherwise skip that
    instruction.
    """
    last = len(values) - 1
    return [(EQUAL, last - at, int(at == last), value) for at, value in enumerate(values)]


def _when(number: int, then: list[Instruction]) -> list[Instruction]:
    """Instructions for one system call. If `then` gives no answer, the call is allowed."""
    block = [*then, (RETURN, 0, 0, ALLOW)]
    return [(EQUAL, 0, len(block), number), *block]


def _error(number: int) -> Instruction:
    return (RETURN, 0, 0, 0x00050000 | number)


def _argument(number: int) -> int:
    """The offset of the lower half of an argument. All supported machines are little-endian."""
    return 16 + 8 * number
