"""Passwords that commands and configurations give away by where they stand: a table, one row a kind.

What `kinds.py` says of rows holds here too.
"""

from __future__ import annotations

from agentfence.core.redaction.checks import has_digit, is_given, looks_chosen
from agentfence.core.redaction.kinds import Kind

_OPTION = rb"""[^\n|;]*?[\s"']"""
"""What may stand between a command and its option."""
_ARGUMENT = rb"""[^\s'"]+"""


def _on_command_line(before: bytes) -> Kind:
    """Give the kind of a password that is the argument behind `before`."""
    return Kind("password", _ARGUMENT, before=before, check=is_given, whole=True)


COMMANDS = (
    _on_command_line(rb"\bsshpass\b" + _OPTION + rb"""-p["', =\\]{0,30}"""),
    Kind(
        "password",
        rb"""[^\s"':]+""",
        before=rb"\b(?:curl|wget|https?|xhs?)\b"
        + _OPTION
        + rb"""(?:-u|-U|-a|--user|--proxy-user|--auth)["', =\\]{0,30}[^\s:"'/]+:""",
        check=is_given,
        whole=True,
    ),
    _on_command_line(
        rb"\b(?:cqlsh|snowsql|twine|user(?:add|mod)|mongo(?:sh|dump|restore|import|export)?|(?:docker|podman|helm|az|oc)\b[^\n|;]*?\blogin)\b"
        + _OPTION
        + rb"""-p["', =\\]{1,30}"""
    ),
    _on_command_line(rb"\b(?:mysql(?:dump|admin)?|mariadb)\b" + _OPTION + rb"""-p["']?"""),
    _on_command_line(
        rb"\b(?:sqlcmd|bcp|isql|mosquitto_(?:pub|sub|rr)|zip|unzip|zipcloak)\b"
        + _OPTION
        + rb"""-P["',\s]{0,30}"""
    ),
    _on_command_line(rb"\bldap[a-z]{3,8}\b" + _OPTION + rb"""-w["',\s]{1,30}"""),
    _on_command_line(rb"\bopenssl\s+enc\b" + _OPTION + rb"""-k["',\s]{1,30}"""),
    _on_command_line(rb"\b(?:7z[ar]?|rar|unrar)\b" + _OPTION + rb"""-h?p["']?"""),
    _on_command_line(rb"\bhtpasswd\b" + _OPTION + rb"""-[A-Za-z]*b[A-Za-z]*\s+\S+\s+\S+\s+["']?"""),
    _on_command_line(rb"\blftp\b" + _OPTION + rb"""-u["',\s]{0,30}[^\s,"']+,"""),
    _on_command_line(
        rb"\b(?:smbclient|rpcclient|smbmap|wmic)\b" + _OPTION + rb"""-U["',\s]{0,30}[^\s%"']+%"""
    ),
    Kind(
        "password",
        rb"""[^\s@"']+""",
        before=rb"\b(?:sqlplus|sqlldr|expdp|impdp|rman)\b[^\n|;/]*?[\s\"'=][A-Za-z0-9_.#-]+/",
        after=rb"(?:@|\s|$)",
        check=is_given,
        whole=True,
    ),
    _on_command_line(rb"(?i:\bnet\s+use\b)[^\n|;]*?\\\\[^\s\\]+\\\S+\s+"),
    Kind(
        "password",
        rb"""[^\s"'|:]+""",
        before=rb"""\becho\s+(?:-[en]+\s+)?["']?[A-Za-z0-9_.-]+:""",
        after=rb"""["']?\s*\|\s*(?:sudo\s+)?chpasswd""",
        check=is_given,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^\s"'|]+""",
        before=rb"""\b(?:echo|printf)\s+(?:-[en]+\s+)?["']?""",
        after=rb"""["']?\s*\|[^\n|;]*(?:--(?:password-stdin|with-token|token-stdin|passphrase-fd)|\bsudo\s(?:[^\n|;]*\s)?-[A-Za-z]*S\b)""",
        check=is_given,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^"'\n]+""",
        before=rb"""(?:\bauth\s*=\s*|\b[A-Za-z]*(?:BasicAuth|DigestAuth))\(\s*["'][^"'\n]*["']\s*,\s*[bru]?["']""",
        check=is_given,
        whole=True,
    ),
    _on_command_line(rb"\b[wx]freerdp3?\b" + _OPTION + rb"""/p:["']?"""),
    _on_command_line(rb"\bdoctl\b" + _OPTION + rb"""-t["',\s]{1,30}"""),
    _on_command_line(rb"\bmc[ \t]+(?:alias|config[ \t]+host)[ \t]+(?:set|add)(?:[ \t]+\S+){3}[ \t]+"),
    _on_command_line(rb"""\bp?npm\s+config\s+set\s+\S*_(?:auth|password)[\s=]+["']?"""),
    Kind(
        "token",
        _ARGUMENT,
        before=rb"""\b(?:vault|cargo)[ \t"',\\]{1,20}login[ \t"',\\]{1,20}""",
        check=has_digit,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^\s"';]+""",
        before=rb"(?i:"
        rb"snmp-server\s+(?:community|host\s+\S+(?:\s+version\s+\S+)?)"
        rb"|\b(?:radius|tacacs)(?:-server)?\b[^\n]{0,120}?\bkey(?:\s+[0-9])?"
        rb"|\bisakmp\s+key(?:\s+[0-9])?|\bkey-string(?:\s+[0-9])?|\bpre-shared-key\s+(?:ascii-text|hexadecimal)"
        rb"|\b(?:password|secret)\s+[0-9])"
        rb"""\s+["']?""",
        check=looks_chosen,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^"'\n]+""",
        before=rb"""(?i:\bset\s+password\s+for\s+[^=\n;]{1,120}=\s*(?:password\s*\(\s*)?)["']""",
        whole=True,
    ),
    Kind(
        "code",
        rb"[0-9]{4,8}\b",
        before=rb"(?i:\byour\s+(?:(?:log|sign)-?in\s+|one-time\s+|confirmation\s+)?code(?:\s+is)?:?\s+)",
        whole=True,
    ),
    _on_command_line(rb"\bredis-cli\b" + _OPTION + rb"""-a["',\s\\]{1,30}"""),
    Kind(
        "password",
        rb"""[^'"]+""",
        before=rb"""(?i:\bConvertTo-SecureString\b)[^\n|;'"]*["']""",
        check=is_given,
        whole=True,
    ),
    Kind("password", _ARGUMENT, before=rb"""\s-pass(?:in|out)?\s+["']?pass:""", check=is_given, whole=True),
    Kind(
        "password",
        rb"""[^'"]+""",
        before=rb"""(?i:\bidentified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?)["']""",
        check=is_given,
        whole=True,
    ),
)
"""Passwords on command lines. No two rows name one program: the scanner would look for the first of them
through the whole line each time that it has found the second."""
