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

from metal.raters.isolation.system_call_numbers import NEWEST, REFUSED, SOMETIMES_REFUSED, numbers

PR_SET_SECCOMP, FILTER = 22, 2
CLONE_THREAD = 0x10000
SOCK_STREAM, SOCKET_TYPES = 1, 0xF
PR_SET_PDEATHSIG = 1

# By machine: what the kernel calls it, and which of a call's two numbers it has (system_call_numbers.py).
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
    result: int = ctypes.CDLL(None, use_errno=True).prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0)
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
