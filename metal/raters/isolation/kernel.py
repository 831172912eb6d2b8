"""Linux: what this process, and all it starts, gives up for good.

Privileges and the network, as far as the system lets anyone give them up; files (Landlock); system calls (seccomp).

Landlock says nothing of who may read what otherwise: it takes away. It cannot hinder anyone from asking whether a path
exists, and it leaves open what the filter of system calls closes: sockets of every kind, other processes, owners,
permissions and dates of files, memory that no limit counts, and what an administrator may do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

NEW_USERS, NEW_NETWORK, NEW_IPC = 0x10000000, 0x40000000, 0x08000000
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 38
CAPABILITIES = 64
CAPABILITIES_VERSION = 0x20080522


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


# ---------------------------------------------------------------- privileges and network


def die_with(parent: int) -> None:
    """Be killed when the parent ends, however it ends."""
    _libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        os.kill(os.getpid(), signal.SIGKILL)


def leave_network() -> bool:
    """Go where there is no network but an interface that is down; False where the system does not allow it."""
    user, group = os.geteuid(), os.getegid()
    unshare = getattr(_libc(), "unshare", None)
    if unshare is None or unshare(NEW_USERS | NEW_NETWORK | NEW_IPC) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with suppress(OSError):  # then the user has no name, and nothing else changes
            Path("/proc/self", name).write_text(text, encoding="ascii")
    return True


def give_up_privileges() -> None:
    """No capabilities, and no way to any: root is then a user like others, who owns root's files."""
    libc = _libc()
    for number in range(CAPABILITIES):
        libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    if hasattr(libc, "capset"):
        libc.capset(struct.pack("=Ii", CAPABILITIES_VERSION, 0), bytes(24))
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


# ---------------------------------------------------------------- files


CREATE, ADD_RULE, RESTRICT = 444, 445, 446  # the same numbers on every machine Python runs on, Alpha apart
ASK_VERSION = 1
PATH_BENEATH = 1

WRITE, READ, LIST, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
FILE_RIGHTS = 1 | WRITE | READ | TRUNCATE | 1 << 15  # others are of folders only
ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # by the version that added them
SPECIAL = 1 << 6 | 1 << 9 | 1 << 11  # devices and sockets: made nowhere
NOT_GIVEN = 1 | SPECIAL | 1 << 15  # nor is anything executed, or a device steered
TCP = 1 << 0 | 1 << 1  # to bind and to connect
SCOPES = 1 << 0 | 1 << 1  # abstract sockets and signals stay among those shut in


def landlock_version() -> int:
    """The version of Landlock here; 0 where there is none."""
    return max(0, _call(CREATE, None, 0, ASK_VERSION))


def shut_in(readable: Iterable[Path], writable: Iterable[Path]) -> int:
    """Open nothing from now on but what lies in these files and folders. Paths that do not exist are passed over.

    Returns the version of Landlock, 0 where nothing was done. Version 4 shuts TCP too, version 6 signals to others and
    abstract sockets. The process must have given up new privileges.
    """
    version = landlock_version()
    if version == 0:
        return 0
    rights = ALL_RIGHTS[max(earlier for earlier in ALL_RIGHTS if earlier <= version)]
    fields = [rights, TCP, SCOPES][: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = _call(CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return 0
    try:
        for path in readable:
            _allow(rules, path, READ | LIST)
        for path in writable:
            _allow(rules, path, rights & ~NOT_GIVEN)
        return version if _call(RESTRICT, rules, 0) == 0 else 0
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights &= rights if path.is_dir() else FILE_RIGHTS
        _call(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _call(number: int, *arguments: int | bytes | None) -> int:
    call = _libc().syscall
    call.restype = ctypes.c_long
    result: int = call(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    return result


# ---------------------------------------------------------------- system calls

# Generated, extracted from the tables of Linux 6.10: the numbers of the system calls that are refused. Each call has
# its number on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl) and its number on arm64 and riscv64
# (include/uapi/asm-generic/unistd.h); -1: that machine has no such call. The kernel never changes a number; newer
# kernels only add calls after NEWEST. A test compares the table with the system's own headers.
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
    ("ioctl", 1, (0x8901, 0x8902, 0x5412, 0x541C)),  # FIOSETOWN, SIOCSPGRP, the same; typing into a terminal
)
# Allowed for this process only. Their first argument is a process; True: 0 stands for the process itself.
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
ALLOW, KILL = 0x7FFF0000, 0x80000000

Instruction = tuple[int, int, int, int]  # code, where to go if true and if false (instructions to skip), operand


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse_system_calls() -> bool:
    """Refuse them from now on; False where this system cannot. The process must have given up new privileges."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        return False
    instructions = filter_for(*machine, os.getpid())
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    program = _Program(len(instructions), packed)
    result: int = _libc().prctl(PR_SET_SECCOMP, SECCOMP_FILTER, ctypes.byref(program), 0, 0)
    return result == 0


def filter_for(machine: int, column: int, process: int) -> list[Instruction]:
    """The filter of a machine for a process: what the kernel goes through at each system call.

    machine: as the kernel calls it. column: which of a call's two numbers is this machine's.
    """
    refuse = _error(errno.EPERM)
    program = [
        (LOAD, 0, 0, MACHINE_AT),
        (EQUAL, 1, 0, machine),
        (RETURN, 0, 0, KILL),  # calls of another machine's kind have other numbers
        (LOAD, 0, 0, NUMBER_AT),
        (AT_LEAST, 0, 1, NEWEST + 1),  # x86-64's second set of calls (X32) is among them
        _error(errno.ENOSYS),
        # The flags of clone3 cannot be seen; where there is none, the C library falls back to clone.
        *_when(SOMETIMES["clone3"][column], [_error(errno.ENOSYS)]),
        *_when(
            SOMETIMES["clone"][column],  # threads, but no processes
            [(LOAD, 0, 0, _argument(0)), (ANY_BIT, 1, 0, CLONE_THREAD), refuse],
        ),
        *_when(
            SOMETIMES["socketpair"][column],  # of the kinds of pairs, only streams cannot send to anyone else
            [(LOAD, 0, 0, _argument(1)), (AND, 0, 0, SOCKET_TYPES), (EQUAL, 1, 0, SOCK_STREAM), refuse],
        ),
    ]
    for name, place, values in REFUSED_VALUES:
        last = len(values) - 1
        tests = [(EQUAL, last - at, int(at == last), value) for at, value in enumerate(values)]
        program += _when(SOMETIMES[name][column], [(LOAD, 0, 0, _argument(place)), *tests, refuse])
    for name, zero_is_itself in ONLY_ITSELF.items():
        also_allowed = 0 if zero_is_itself else process
        tests = [(EQUAL, 2, 0, also_allowed), (EQUAL, 1, 0, process)]
        program += _when(SOMETIMES[name][column], [(LOAD, 0, 0, _argument(0)), *tests, refuse])
    for by_machine in numbers(REFUSED).values():
        if by_machine[column] >= 0:
            program += _when(by_machine[column], [refuse])
    return [*program, (RETURN, 0, 0, ALLOW)]


def _when(number: int, then: list[Instruction]) -> list[Instruction]:
    """Instructions for one system call. Those that do not end in an answer end in permission."""
    block = [*then, (RETURN, 0, 0, ALLOW)]
    return [(EQUAL, 0, len(block), number), *block]


def _error(number: int) -> Instruction:
    return (RETURN, 0, 0, 0x00050000 | number)


def _argument(place: int) -> int:
    """Where the lower half of an argument lies; all machines above are little-endian."""
    return 16 + 8 * place
