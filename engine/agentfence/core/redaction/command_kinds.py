"""Passwords that commands and configurations give away by where they stand: a table, one row a kind.

What `kinds.py` says of rows holds here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.redaction.checks import (
    has_digit,
    is_given,
    is_given_in_place,
    looks_chosen,
    looks_random,
    names_secret,
)
from agentfence.core.redaction.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

OPTION = rb"""[^\n|;]*?[\s"']"""
"""What may stand between a command and its option."""
_ARGUMENT = rb"""[^\s'"\x01]+"""
"""No byte of what was found before: so the next option of the same command is found too."""
_QUOTED = rb"""[^'"\x01]+"""
_NEXT = rb"""["',\s\\]+"""
"""What stands between the words of a command, also of a list of them."""


def _on_command_line(before: bytes, check: Callable[[bytes], bool] = is_given) -> Kind:
    """Give the kind of a password that is the argument behind `before`."""
    return Kind("password", _ARGUMENT, before=before, check=check, is_word=True, whole=True)


def _is_chosen_word(word: bytes) -> bool:
    """Whether this may be a password behind `-p` of any program: no place, no variable."""
    return looks_chosen(word) and is_given(word) and not any(mark in word for mark in b"/:=,")


def _is_no_scheme(word: bytes) -> bool:
    """Whether this may be the password of a pair that is called `auth`: not the name of a way to log in."""
    return is_given(word) and word.lower() not in _SCHEMES


_SCHEMES = frozenset(b"basic bearer digest none oauth oauth2 oidc jwt apikey api_key token mtls".split())

COMMANDS = (
    _on_command_line(rb"\bsshpass\b" + OPTION + rb"""-p["', =\\]{0,30}"""),
    Kind(
        "password",
        rb"""[^\s"':\x01][^\s"'\x01]*""",
        before=rb"\b(?:curl|wget|https?|xhs?)\b"
        + OPTION
        + rb"""(?:(?:-[A-Za-z]{0,8}[uUa]|--user|--proxy-user|--auth)["', =\\]{0,30}[^\s:"'/]+:"""
        + rb"""|(?:-E|--cert)["', =\\]{1,30}[^\s:"']+:|-b["', =\\]{0,30}[A-Za-z0-9_.-]+=)""",
        check=is_given,
        is_word=True,
        whole=True,
    ),
    _on_command_line(
        rb"\b(?:cqlsh|snowsql|twine|user(?:add|mod)|mongo(?:sh|dump|restore|import|export)?|(?:docker|podman|helm|az|oc)\b[^\n|;]*?\blogin)\b"
        + OPTION
        + rb"""-p["', =\\]{1,30}"""
    ),
    _on_command_line(rb"\b(?:mysql(?:dump|admin)?|mariadb)\b" + OPTION + rb"""-p["']?"""),
    _on_command_line(
        rb"\b(?:sqlcmd|bcp|isql|mosquitto_(?:pub|sub|rr)|zip|unzip|zipcloak)\b"
        + OPTION
        + rb"""-P["',\s]{0,30}"""
    ),
    _on_command_line(rb"\b(?:ldap[a-z]{3,8}|vsql)\b" + OPTION + rb"-[was]" + _NEXT),
    _on_command_line(rb"\bopenssl\s+(?:enc|dgst|mac)\b" + OPTION + rb"-(?:k|hmac)" + _NEXT),
    _on_command_line(
        rb"\bopenssl"
        + _NEXT
        + rb"passwd(?:"
        + _NEXT
        + rb"-(?:(?:salt|in)\s+[^\s-]\S*|[A-Za-z0-9]+))*"
        + _NEXT
    ),
    _on_command_line(rb"\b(?:7z[ar]?|rar|unrar)\b" + OPTION + rb"""-h?p["']?"""),
    _on_command_line(
        rb"\bhtpasswd\b(?:"
        + _NEXT
        + rb"-[A-Za-z]+)*?"
        + _NEXT
        + rb"(?:-[A-Za-mo-z]*b[A-Za-mo-z]*(?:"
        + _NEXT
        + rb"-[A-Za-z]+)*"
        + _NEXT
        + rb"""[^\s"',-][^\s"',]*|-[A-Za-z]*(?:n[A-Za-z]*b|b[A-Za-z]*n)[A-Za-z]*)"""
        + _NEXT
        + rb"""[^\s"',-][^\s"',]*"""
        + _NEXT
    ),
    _on_command_line(rb"\blftp\b" + OPTION + rb"""-u["',\s]{0,30}[^\s,"']+,"""),
    _on_command_line(
        rb"\b(?:smbclient|rpcclient|smbmap|wmic)\b" + OPTION + rb"""-U["',\s]{0,30}[^\s%"']+%"""
    ),
    Kind(
        "password",
        rb"""[^\s@"'\\]+""",
        before=rb"\b(?:sqlplus|sqlldr|expdp|impdp|rman)\b[^\n|;/]*?[\s\"'=][A-Za-z0-9_.#-]+/\\*\"?",
        after=rb"(?:\\*\"|@|\s|$)",
        check=is_given,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^\s'"/][^\s'"]*""",
        before=rb"""(?i:\bnet\s+use\b)[^\n|;]*?\\\\[^\s\\]+\\\S+(?:\s+/[^\s"']+)*\s+["']?""",
        check=is_given,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^\s'"/][^\s'"]*""",
        before=rb"""(?i:\bnet["',\s\\]+user["',\s\\]+[^\s/"',\\]+["',\s\\]+)""",
        check=looks_chosen,
        whole=True,
    ),
    _on_command_line(rb"""(?i:\bschtasks\b)[^\n|;]*?(?i:/r?p)\s+["']?"""),
    Kind(
        "password",
        rb"""[^\s"'|:\\]+""",
        before=rb"""\becho\s+(?:-[en]+\s+)?\\*["']?[A-Za-z0-9_.-]+:""",
        after=rb"""\\*["']?\s*\|\s*(?:sudo\s+)?chpasswd""",
        check=is_given,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^\s"'|]+""",
        before=rb"""\b(?:echo|printf)\s+(?:-[en]+\s+)?["']?""",
        after=rb"""["']?\s*\|[^\n|;]*(?:--(?:password-stdin|with-token|token-stdin|passphrase-fd)|\bsudo\s(?:[^\n|;]*\s)?-[A-Za-z]*S\b"""
        rb"|\b(?:passwd|kinit|cryptsetup|smbpasswd)\b|\bsecrets?\s+(?:create|set|put|add|versions\s+add)\b|\benv\s+add\b)",
        check=is_given,
        whole=True,
    ),
    _on_command_line(
        rb"\b(?:sudo\s(?:[^\n|;<]*\s)?-[A-Za-z]*S|su|kinit|smbpasswd|cryptsetup|with-token|password-stdin"
        rb"""|passwd|env\s+add|pass\s+insert|secrets?\s+(?:put|set|add|create)|secret-tool)\b[^\n|;<]*<<<\s*["']?"""
    ),
    _on_command_line(
        rb"\s-[uUln]"
        + _NEXT
        + rb"""[^\s"',|;\\-][^\s"'|;]*(?:"""
        + _NEXT
        + rb"""-[A-Za-z-]+(?:"""
        + _NEXT
        + rb"""[^\s"',|;\\-][^\s"'|;]*)?)*?"""
        + _NEXT
        + rb"""-[pP]["',\s\\=]{0,30}""",
        check=_is_chosen_word,
    ),
    Kind(
        "password",
        rb"""[^\s"':@\x01]+""",
        before=rb"""--(?:user|creds?|auth-cred|basic-auth|http-auth|login)["', =\\]{1,30}[^\s:"'/]+:""",
        check=looks_chosen,
        whole=True,
    ),
    _on_command_line(
        rb"\b(?:rabbitmqctl|rabbitmqctl\.bat)\b"
        + OPTION
        + rb"(?:add_user|change_password|authenticate_user)"
        + _NEXT
        + rb"""[^\s"',]+"""
        + _NEXT
    ),
    _on_command_line(rb"\bsnmp[a-z]{2,9}\b" + OPTION + rb"-[AXc]" + _NEXT, check=looks_chosen),
    _on_command_line(rb"\bwpa_passphrase" + _NEXT + rb"""[^\s"']+""" + _NEXT),
    _on_command_line(rb"""\biwconfig\s+\S+\s+key\s+["']?(?:s:)?""", check=looks_chosen),
    _on_command_line(rb"\brclone\b" + OPTION + rb"(?:obscure|pass)" + _NEXT, check=looks_chosen),
    _on_command_line(rb"\bsnyk" + _NEXT + rb"auth" + _NEXT, check=has_digit),
    _on_command_line(rb"\bsonar-scanner\b" + OPTION + rb"-Dsonar\.login="),
    _on_command_line(rb"\b(?:dotnet\s+nuget|nuget|gem)\s+push\b" + OPTION + rb"(?:-k|--key)" + _NEXT),
    Kind(
        "password",
        rb"""[^\s'"/\x01][^\s'"\x01]*""",
        before=rb"\bsecurity\s+(?:add-[a-z]+-password|unlock-keychain|create-keychain|import|export)\b"
        + OPTION
        + rb"-[wpP]"
        + _NEXT,
        check=is_given,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^\s'"]+["'\s]+[^\s'"]+""",
        before=rb"""\bqpdf\b[^\n|;]*?\s--encrypt\s+["']?""",
        whole=True,
    ),
    _on_command_line(
        rb"\bpdf(?:tk|to[a-z]+|info|images)\b" + OPTION + rb"(?:-[uo]pw|input_pw|(?:user|owner)_pw)" + _NEXT
    ),
    _on_command_line(rb"\bdb2\b[^\n;]*?(?i:\buser\s+\S+\s+using)\s+"),
    _on_command_line(rb"\bdotnet\s+user-secrets\s+set" + _NEXT + rb"""[^\s"']+""" + _NEXT),
    _on_command_line(rb"\bpoetry\s+config\s+http-basic\.\S+" + _NEXT + rb"""[^\s"']+""" + _NEXT),
    _on_command_line(rb"""\bACL\s+SETUSER\s[^\n]*?\s["']?>"""),
    _on_command_line(rb"""(?i:\b(?:requirepass|masterauth)["',\s]{1,5})""", check=looks_chosen),
    Kind(
        "password",
        rb"""[^\s'",;]{6,}""",
        before=rb"""\bAUTH["',\s]{1,5}(?:[A-Za-z]+["',\s]{1,5})?""",
        check=looks_chosen,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^"'\n]+""",
        before=rb"""(?:\bauth["']?\s*[:=]\s*[(\[]|\b[A-Za-z]*(?:BasicAuth|DigestAuth)\()\s*["'][^"'\n]*["']\s*,\s*[bru]?["']""",
        check=_is_no_scheme,
        whole=True,
    ),
    _on_command_line(rb"\b[wx]freerdp3?\b" + OPTION + rb"""/p:["']?"""),
    _on_command_line(rb"\bdoctl\b" + OPTION + rb"""-t["',\s]{1,30}"""),
    _on_command_line(rb"\bmc[ \t]+(?:alias|config[ \t]+host)[ \t]+(?:set|add)(?:[ \t]+\S+){3}[ \t]+"),
    _on_command_line(rb"""\bp?npm\s+config\s+set\s+\S*_(?:auth|password)[\s=]+["']?"""),
    Kind(
        "token",
        _ARGUMENT,
        before=rb"""\b(?:vault|cargo|wandb)[ \t"',\\]{1,20}login[ \t"',\\]{1,20}""",
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
        rb"|\bip\s+ospf\s+authentication-key(?:\s+[0-9])?"
        rb"|\b(?:authentication|message-digest)-key\s+[0-9]+\s+(?:md5|sha[0-9-]*)(?:\s+[0-9])?"
        rb"|\b(?:password|secret)\s+[0-9])"
        rb"""\s+["']?""",
        check=looks_chosen,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^"'\n]+""",
        before=rb"""(?i:\bset\s+password\s+(?:for\s+[^=\n;]{1,120})?=\s*(?:password\s*\(\s*)?)["']""",
        whole=True,
    ),
    Kind(
        "code",
        rb"[0-9]{4,8}\b",
        before=rb"(?i:\byour\s+(?:(?:log|sign)-?in\s+|one-time\s+|confirmation\s+)?code(?:\s+is)?:?\s+)",
        whole=True,
    ),
    Kind(
        "code",
        rb"[0-9]{4,8}",
        before=rb"\b",
        after=rb"(?i:\s+is\s+your\s+(?:[A-Za-z]+\s+){0,2}(?:verification|security|login|sign-in|one-time|confirmation"
        rb"|authentication|access)\s+(?:code|pin|passcode|password))",
        whole=True,
    ),
    Kind(
        "code",
        rb"[0-9]{4,8}",
        before=rb"(?i:\bcode\s+)",
        after=rb"(?i:\s+to\s+(?:sign|log|verify|confirm)\b)",
        whole=True,
    ),
    Kind("otp-secret", rb"[A-Za-z0-9%+/=_-]+", before=rb"\botpauth-migration://offline\?data=", whole=True),
    _on_command_line(rb"\bredis-cli\b" + OPTION + rb"""-a["',\s\\]{1,30}"""),
    Kind(
        "password",
        rb"""[^'"\s$()-][^'"\s()]*""",
        before=rb"(?i:\bConvertTo-SecureString(?:\s+-String)?)\s+",
        check=is_given,
        whole=True,
    ),
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
        _QUOTED,
        before=rb"""(?i:\bidentified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?(?:["']\x01+["']\s+replace\s+)?)["']""",
        check=is_given,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^\s'";]+""",
        before=rb"(?i:\b(?:create|alter|grant)\s[^\n;]*?\bidentified\s+by\s+)",
        check=looks_chosen,
        whole=True,
    ),
    Kind(
        "key",
        _QUOTED,
        before=rb"""(?i:\bpragma\s+(?:\w+\.)?(?:hex)?(?:re)?key\s*=\s*"""
        rb"""|\battach\s+(?:database\s+)?["'][^"'\n]*["']\s+as\s+\S+\s+key\s+)["']""",
        whole=True,
    ),
    Kind(
        "password",
        _QUOTED,
        before=rb"""(?i:\b(?:mysqli?_connect|mysqli|PDO|getConnection|(?:pymysql|MySQLdb|DBI)(?:\.|->)connect|FTP)\(\s*(?:(?:\\*"[^"\n]*"|\\*'[^'\n]*'|[A-Za-z0-9_$.]+)\s*,\s*){2})\\*["']""",
        check=is_given,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^"'\s\\]+""",
        before=rb"""(?i:(?:\.log_?in|\blogin|\.auth|\.authenticate|\bsp_addlogin|changeUserPassword|Credentials?|PasswordAuthentication|basic_?auth|\.basic|With(?:EmailAnd)?Password|oracle(?:db)?\.connect|oci_connect)\(?\s*[bruN]?\\*["'][^"'\n]*["']\s*,\s*[bruN]?\\*["'])""",
        check=looks_chosen,
        whole=True,
    ),
    _on_command_line(rb"""--from-literal[= "',\\]{1,9}[A-Za-z0-9._-]+=\\*["']?"""),
    _on_command_line(
        rb"\b(?:secrets?|keys)\s+(?:set|put|create|add|update)\b"
        + OPTION
        + rb"""(?:--?(?:value|body|b|v)(?:=["']?|"""
        + _NEXT
        + rb""")|[A-Za-z_][A-Za-z0-9_]*=["']?)"""
    ),
    _on_command_line(rb"\bdoppler" + _NEXT + rb"secrets" + _NEXT + rb"set" + _NEXT + rb"[A-Z0-9_]+" + _NEXT),
    Kind(
        "secret",
        _ARGUMENT,
        before=rb"""\bput-parameter\b[^\n|;]*?\s["']?--value(?:=|""" + _NEXT + rb")",
        check=is_given,
        check_before=names_secret,
        is_word=True,
        whole=True,
    ),
    Kind(
        "secret",
        _ARGUMENT,
        before=rb"--value" + _NEXT,
        after=rb"""[^\n|;]*--type["',=\s]+SecureString""",
        check=is_given,
        whole=True,
    ),
    _on_command_line(
        rb"\bvault"
        + _NEXT
        + rb"(?:kv"
        + _NEXT
        + rb"(?:put|patch)|write"
        + _NEXT
        + rb"(?:secret|kv|cubbyhole)/)"
        + OPTION
        + rb"""[A-Za-z0-9_.-]+=["']?""",
        check=is_given_in_place,
    ),
    _on_command_line(rb"\bbw" + _NEXT + rb"(?:unlock|login" + _NEXT + rb"[^\s@]+@\S+?)" + _NEXT),
    _on_command_line(rb"\bssh-keygen\b" + OPTION + rb"-[NP]" + _NEXT),
    _on_command_line(rb"\b(?:signtool|certutil)\b" + OPTION + rb"[/-]p" + _NEXT),
    _on_command_line(rb"\b(?:wifi-sec\.psk|set_network\s+[0-9]+\s+(?:psk|password))" + _NEXT),
    _on_command_line(
        rb"(?i:\breg\s+add\b[^\n|;]*?/v\s+\S*(?:passw|secret|token|pwd|api_?key)[^\n|;]*?/d" + _NEXT + rb")"
    ),
    _on_command_line(rb"\brootpw\b" + OPTION + rb"--plaintext" + _NEXT),
    _on_command_line(rb"\btwilio\s+login\s+AC\S+\s+"),
    _on_command_line(rb"\bopenai\b" + OPTION + rb"-k" + _NEXT),
    Kind(
        "password",
        rb"""[^\s"']+""",
        before=rb"(?:\bmachine\s+\S+|\bdefault)\s+login\s+\S+\s+(?:account\s+\S+\s+)?password\s+",
        check=is_given,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^"'\n\\]+""",
        before=rb"""(?:\bjwt\.(?:sign|encode|decode|verify)\(\s*[A-Za-z_.{}$ ]+"""
        rb"""|\bcreateHmac\(\s*\\*["'][A-Za-z0-9-]+\\*["']"""
        rb"""|\b(?:str(?:case|n)?cmp|compare_digest|hash_equals)\([^"',\n]*(?i:passw|secret|token|pwd|api_?key)[^"',\n]*)"""
        rb"""\s*,\s*[bru]?\\*["']""",
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^"'\s\\]{4,}""",
        before=rb"""\b(?:(?:bcrypt|argon2|scrypt|crypt|pbkdf2|pwd_context)\.(?:hash[a-z]*|crypt|encrypt)"""
        rb"""|(?:generate_password_hash|make_password|set_?[pP]assword|password_hash|[hH]ash_?[pP]assword)"""
        rb"""|Fernet|HMAC[0-9]{3}|hmacShaKeyFor|SecretKeySpec)\(\s*[bru]?\\*["']""",
        check=is_given,
        whole=True,
    ),
    Kind(
        "token",
        rb"""[^"'\s\\]{16,}""",
        before=rb"""\.login\(\s*\\*["']""",
        after=rb"""\\*["']\s*\)""",
        check=looks_random,
        whole=True,
    ),
    Kind(
        "password",
        rb"""[^"'\s\\]{4,}""",
        before=rb"""\.auth\(\s*\\*["']""",
        after=rb"""\\*["']\s*\)""",
        check=looks_chosen,
        whole=True,
    ),
    _on_command_line(rb"""\bCURLOPT_(?:PROXY)?USERPWD["']?\s*(?:,|=>)\s*\\*["'][^"':\n]*:"""),
    _on_command_line(
        rb"\bjq\b" + OPTION + rb"--arg" + _NEXT + rb"\S*(?i:passw|secret|token|pwd|api_?key)\S*" + _NEXT
    ),
    _on_command_line(
        rb"\bpulumi"
        + _NEXT
        + rb"config"
        + _NEXT
        + rb"set(?:"
        + _NEXT
        + rb"--\S+)*"
        + _NEXT
        + rb"[^\s-]*(?i:passw|secret|token|pwd|api_?key)\S*"
        + _NEXT,
        check=looks_chosen,
    ),
    _on_command_line(rb"\bansible-vault" + _NEXT + rb"encrypt_string" + _NEXT),
    _on_command_line(
        rb"\bmkpasswd(?:" + _NEXT + rb"-\S+(?:" + _NEXT + rb"(?:sha-[0-9]+|md5|yescrypt|bcrypt))?)*" + _NEXT
    ),
)
"""Passwords on command lines. No two rows name one program: the scanner would look for the first of them
through the whole line each time that it has found the second."""
