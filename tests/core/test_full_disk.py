"""A full disk is named as such, whoever says it."""

from __future__ import annotations

import errno

import pytest

from gingham.core.full_disk import full_disk


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/data/a"), "the disk of /data/a"),
        (OSError(errno.ENOSPC, "Error writing bytes to file"), "a disk"),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "/home/x"), "the disk of /home/x"),
        (
            OSError(
                "Failed to open local file '/c/log'. Detail: [errno 28] No space left on device"
            ),
            "the disk of /c/log",
        ),
        (RuntimeError("java.io.IOException: No space left on device\n\tat x"), "a disk"),
        (
            RuntimeError("java.io.FileNotFoundException: /tmp/b-1 (No space left on device)"),
            "the disk of /tmp/b-1",
        ),
        (OSError(errno.EACCES, "Permission denied", "/data/a"), None),
        (ValueError("a device"), None),
    ],
)
def test_a_full_disk_is_recognised(error: Exception, full: str | None):
    assert full_disk(error) == full


def test_a_full_disk_is_recognised_behind_another_error():
    error = ValueError("no answer")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device", "/d")
    assert full_disk(error) == "the disk of /d"
