"""What end-to-end tests need of the network: ports, certificates, proxies, a recording upstream."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path


def free_port() -> int:
    """A port of the loopback that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate for `localhost` and 127.0.0.1, with its key and the authority that signed it."""

    file: Path
    key: Path
    authority: Path


def make_ca(folder: Path) -> Certificate:
    """A new authority in a folder, and a certificate of it for the loopback."""
    authority_key, authority = _sign("agentfence test authority", None, None)
    key, certificate = _sign("localhost", authority, authority_key)
    made = Certificate(folder / "localhost.pem", folder / "localhost.key", folder / "authority.pem")
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return made


_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _sign(
    name: str, issuer: x509.Certificate | None, issuer_key: ec.EllipticCurvePrivateKey | None
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )
    signer = issuer_key or key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    if issuer is not None:
        builder = builder.add_extension(names, critical=False)
    else:  # Python asks for it from 3.13 on
        builder = builder.add_extension(_SIGNS_CERTIFICATES, critical=True)
    return key, builder.sign(signer, hashes.SHA256())


def trusting(authority: Path) -> dict[str, str]:
    """The environment in which the test clients trust this authority."""
    return {"SSL_CERT_FILE": str(authority), "NODE_EXTRA_CA_CERTS": str(authority)}


def proxied(proxy: str) -> dict[str, str]:
    """The environment in which the test clients send everything, the loopback too, through a proxy."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), proxy)
    return {**proxies, "NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as it arrived."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> list[str]:
        """All values of a header, in order."""
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass(frozen=True, slots=True)
class Response:
    """What the recording upstream answers; a body in pieces is sent chunked, each as soon as it is there."""

    body: bytes | Iterator[bytes] = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)


Answer = Callable[[Request], Response]


def answer_result(request: Request) -> Response:
    """An empty tool result for a request; 202 for all else."""
    try:
        message = json.loads(request.body)
    except ValueError:
        return Response(status=202)
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return Response(status=202)
    result: dict[str, Any] = {"content": [], "isError": False}
    return Response(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())


@dataclass(slots=True)
class RecordingUpstream:
    """An HTTP server that keeps what it was sent; `answer` may be replaced at any time."""

    url: str
    answer: Answer
    requests: list[Request] = field(default_factory=list)
    leaves_bodies: bool = False
    """Whether it answers without reading a body, except at /mcp, as some handlers do."""


@contextlib.contextmanager
def start_recording_upstream(
    answer: Answer = answer_result, *, certificate: Certificate | None = None
) -> Iterator[RecordingUpstream]:
    """An upstream at /mcp on the loopback, in this process, until the `with` block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _RecordingRequestHandler)
    server.daemon_threads = True
    origin = "http://127.0.0.1"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.file, certificate.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        origin = "https://localhost"
    upstream = RecordingUpstream(f"{origin}:{server.server_port}/mcp", answer)
    server.upstream = upstream  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _RecordingRequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            super().handle_one_request()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class's name
        """Say nothing: the record is what counts."""

    def _serve(self) -> None:
        headers = tuple((key, str(value)) for key, value in self.headers.items())
        upstream: RecordingUpstream = self.server.upstream  # type: ignore[attr-defined]
        is_left = upstream.leaves_bodies and self.path != "/mcp"
        request = Request(self.command, self.path, headers, b"" if is_left else self._read_body())
        upstream.requests.append(request)
        self._send(upstream.answer(request))

    do_DELETE = do_GET = do_HEAD = do_OPTIONS = do_PATCH = do_POST = do_PUT = _serve  # noqa: N815 -- their names

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            continue
        return body

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        if isinstance(response.body, bytes):
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in response.body:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")
