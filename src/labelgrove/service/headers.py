"""Headers that every answer carries, for the browsers that read it."""

from __future__ import annotations

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
TAGGER_VERSION = b"tagger-version"  # the saved tagger that gave this answer
PASSED_OVER = "Documents-Passed-Over"  # how many documents there was nothing to learn of
# to pages of other origins
EXPOSED = ("Tagger-Version", "Retry-After", "WWW-Authenticate", PASSED_OVER)
UNKEPT = (b"cache-control", b"no-store")  # where an answer does not say otherwise
