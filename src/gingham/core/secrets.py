"""Passwords, tokens and keys are masked in texts that users see."""

from __future__ import annotations

import re

MASK = "***"

# Shorter values are words such as "1" or "yes": without them no text could be read any more.
_SHORTEST_HIDDEN = 4
# Of the process, not of a session: a text with a hidden value in it may come from anywhere, from
# Spark, from a sink, from a thread of a stream.
_hidden: set[str] = set()

# In the names of options, fields and URL parameters.
_NAME = (
    r"[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|signature"
    r"|(?:api|access|account|private|shared|storage|encryption|sas)[\w.-]{0,16}key)[\w.-]*"
    r"|authorization|sig|sas"
)
# `token:string` is a column with its type, no secret.
_TYPE = (
    r"(?:string|binary|boolean|tinyint|smallint|int|integer|bigint|long|float|double|decimal|date"
    r"|timestamp\w*|interval|array|map|struct|variant|void)\b"
)
_QUOTED = r"""\\?(?P<quote>["'`]).*?(?<!\\)\\?(?P=quote)"""
_BARE = r"""(?:(?:Bearer|Basic)\s+)?[^\s,;&<>()\[\]{}"'`|]+"""
_NAMED = re.compile(
    rf"""(?P<name>(?<![\w.-])(?:{_NAME})\\?["'`]?\s{{0,4}}(?:=>|->|==?|:(?!\s*{_TYPE}))\s{{0,4}})"""
    rf"(?P<value>{_QUOTED}|{_BARE})",
    re.IGNORECASE,
)
# A password may hold "@" and "/" itself: the last "@" before a space or a quote ends it.
_IN_URL = re.compile(r"""(?P<start>://[^\s/:@'"]{0,300}:)(?!\d+(?:[/?,]|$))[^\s'"<>]{0,300}@""")
_ORACLE = re.compile(r"(?P<start>jdbc:oracle:\w+:[^\s/@]{1,100}/)[^\s@]{1,300}@")
_KNOWN = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bxox[abprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # JSON web tokens
    r"|(?<=Bearer )[\w.~+/-]{12,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)


def hide(value: str) -> None:
    """Let `without_secrets` mask a value, and each of its lines, for the rest of the process."""
    parts = (value, *value.splitlines())
    _hidden.update(part for part in map(str.strip, parts) if len(part) >= _SHORTEST_HIDDEN)


def without_secrets(text: str) -> str:
    """A text with *** in place of passwords, tokens and keys, where their names or forms show them.

    What was hidden by `hide` is masked wherever it stands.

    >>> without_secrets("jdbc:postgresql://ann:s3cret@db/trades?token=abc&ssl=true")
    'jdbc:postgresql://ann:***@db/trades?token=***&ssl=true'
    >>> without_secrets('PlainLoginModule required username="ann" password="s3cret";')
    'PlainLoginModule required username="ann" password="***";'
    """
    # The longest first: one value may be a part of another.
    for value in sorted(_hidden, key=len, reverse=True):
        text = text.replace(value, MASK)
    text = _KNOWN.sub(MASK, text)
    text = _ORACLE.sub(rf"\g<start>{MASK}@", text)
    text = _IN_URL.sub(rf"\g<start>{MASK}@", text)
    return _NAMED.sub(_masked, text)


def _masked(found: re.Match[str]) -> str:
    """A named secret with its name and its quotes, but without its value."""
    value, quote = found["value"], found["quote"]
    if quote is None:
        return found["name"] + MASK
    edge = value[: value.index(quote) + 1]  # a quote, with a backslash before it or without
    return f"{found['name']}{edge}{MASK}{edge}"
