"""Certificates for tests, from an authority that a test makes."""

import ssl
from pathlib import Path

import trustme


class Authority:
    """Issues certificates into a directory."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        self._authority = trustme.CA()
        self._directory = directory
        self.file = directory / f"{name}.pem"
        self._authority.cert_pem.write_to_path(self.file)

    def issue(self, identity: str = "localhost", name: str = "server") -> tuple[Path, Path]:
        """Make a certificate and its key, for a host or for a client."""
        issued = self._authority.issue_cert(identity)
        certificate, key = self._directory / f"{name}.crt", self._directory / f"{name}.key"
        certificate.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(key)
        return certificate, key

    def client(self, own: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        """Make a client's context that trusts this authority, with a client certificate if one is given."""
        context = ssl.create_default_context(cafile=self.file)
        if own is not None:
            context.load_cert_chain(*own)
        return context
