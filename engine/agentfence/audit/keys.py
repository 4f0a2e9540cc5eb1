"""Ed25519 keys for audit logs: PKCS #8 and SubjectPublicKeyInfo in PEM, as OpenSSL and Go have them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentfence.core.errors import AuditError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from agentfence.core.audit.verification import CheckSignature
    from agentfence.core.record import Sign


def make_keys(private: Path, public: Path) -> None:
    """Write a new pair of keys; files that exist are left alone.

    Raises:
        UsageError: One exists, or cannot be written.

    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = Ed25519PrivateKey.generate()
    text = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _write_new(public, text, 0o644)
    try:
        _write_new(private, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    except UsageError:  # half a pair would only be in the way of the next try
        public.unlink()
        raise


def read_private_key(path: Path) -> Sign:
    """Give what signs with the key in a file.

    Raises:
        AuditError: It holds none, or others than its owner can read it.

    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    text = _read(path)
    if path.stat().st_mode & 0o077:
        raise AuditError(f"the key `{path}` must be for its owner alone: chmod 600 it")
    try:
        key = load_pem_private_key(text, None)
    except (ValueError, TypeError) as error:
        raise AuditError(f"`{path}` holds no private key in PEM") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise AuditError(f"the key in `{path}` is no Ed25519 key")
    return key.sign


def read_public_key(path: Path) -> CheckSignature:
    """Give what checks signatures by the key in a file.

    Raises:
        AuditError: It holds none.

    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_read(path))
    except ValueError as error:
        raise AuditError(f"`{path}` holds no public key in PEM") from error
    if not isinstance(key, Ed25519PublicKey):
        raise AuditError(f"the key in `{path}` is no Ed25519 key")

    def is_signed(digest: bytes, signature: bytes) -> bool:
        try:
            key.verify(signature, digest)
        except InvalidSignature:
            return False
        return True

    return is_signed


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise AuditError(f"the key `{path}` cannot be read: {error.strerror}") from error


def _write_new(path: Path, text: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError as error:
        raise UsageError(f"`{path}` exists: keys are never written over") from error
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)  # half a key is none, and is in the way of the next try
        raise UsageError(f"`{path}` cannot be written: {error.strerror}") from error
