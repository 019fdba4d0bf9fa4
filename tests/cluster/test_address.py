import pytest
import typer

from labelgrove.cli import options
from labelgrove.cluster import ClusterAddress, read_address
from labelgrove.core.errors import InputError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("local:1", ClusterAddress(cpus=1)),
        (" local:16 ", ClusterAddress(cpus=16)),
        ("auto", ClusterAddress()),
        ("head:6379", ClusterAddress(host="head", port=6379)),
        ("10.0.0.5:6379", ClusterAddress(host="10.0.0.5", port=6379)),
        ("[fe80::1]:6379", ClusterAddress(host="fe80::1", port=6379)),
    ],
)
def test_an_address_is_read_and_shown(text, address):
    assert read_address(text) == address
    assert str(read_address(text)) == text.strip()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("local:0", "'local:0': local:N needs a number of CPUs from 1"),
        ("local:x", "'local:x': local:N needs a number of CPUs from 1"),
        ("local:", "'local:': local:N needs"),
        ("local:-1", "'local:-1': local:N needs"),
        ("local:²", "local:N needs"),
        ("local", "unknown cluster 'local': give local:N"),
        ("foo", "unknown cluster 'foo': give local:N"),
        ("", "unknown cluster '': give local:N"),
        (":6379", "unknown cluster ':6379'"),
        ("fe80::1:6379", "unknown cluster"),
        ("head:0", "the port must be a number from 1 to 65535"),
        ("head:70000", "the port must be"),
        ("head:x", "the port must be"),
        ("ray://head:10001", "addresses of the Ray client are not supported"),
    ],
)
def test_a_bad_address_is_refused(text, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read_address(text)


def test_the_option_refuses_a_bad_address_before_the_command_begins():
    app = typer.Typer()
    seen = []

    @app.command()
    def command(cluster: options.Cluster = None) -> None:
        seen.append(cluster)

    app([], standalone_mode=False)
    app(["--cluster", "local:3"], standalone_mode=False)
    assert seen == [None, "local:3"]
    with pytest.raises(InputError, match="unknown cluster 'foo'"):
        app(["--cluster", "foo"], standalone_mode=False)
