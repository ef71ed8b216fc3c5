"""SPEC §2: every spelling of a remote gives the key of its repository, and what is no remote gives none."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.scopes import remotes
from pony_memory.scopes.remotes import remote_key

SAME_REPOSITORY = [
    "https://github.com/owner/repo.git",
    "https://github.com/owner/repo",
    "http://github.com/owner/repo.git",
    "ssh://git@github.com/owner/repo.git",
    "ssh://github.com/owner/repo",
    "git://github.com/owner/repo.git",
    "git+ssh://git@github.com/owner/repo.git",
    "git+https://github.com/owner/repo.git",
    "GIT+SSH://git@github.com/owner/repo.git",
    "HTTPS://GitHub.COM/owner/repo.git",
    "ssh://git@GITHUB.com/owner/repo",
    "git@github.com:owner/repo.git",
    "github.com:owner/repo.git",
    "github.com:owner/repo",
    "git@GitHub.com:owner/repo.git",
    "git@github.com:/owner/repo.git",
    "git@github.com:owner/repo.git/",
    "https://github.com/owner/repo.git/",
    "https://github.com/owner/repo///",
    "https://github.com//owner/repo.git",
    "https://github.com/owner/repo.GIT",
    "git@github.com:owner/repo.Git",
    # ports
    "https://github.com:443/owner/repo.git",
    "https://github.com:8443/owner/repo.git",
    "ssh://git@github.com:22/owner/repo.git",
    "ssh://git@github.com:29418/owner/repo.git",
    "ssh://github.com:/owner/repo.git",
    "[git@github.com:2222]:owner/repo.git",
    # credentials, split at the last @
    "https://me:token@github.com/owner/repo.git",
    "https://me%40corp:p%3Aw@github.com/owner/repo.git",
    "https://me@corp.example:p@ss@github.com/owner/repo.git",
    "ssh://me@corp.example@github.com:22/owner/repo.git",
    "me@corp.example@github.com:owner/repo.git",
    "https://@github.com/owner/repo.git",
    # dots folded
    "https://github.com/x/../owner/./repo.git",
    "ssh://github.com/owner/x/../repo.git",
    "https://github.com/x/%2E%2e/owner/repo.git",
    # query and fragment dropped
    "https://github.com/owner/repo.git?x=1#y",
    "https://github.com/owner/repo.git#.git",
    "ssh://github.com/owner/repo?x/y",
    # white space around, as quoting in a configuration keeps it
    " https://github.com/owner/repo.git ",
]


@pytest.mark.parametrize("url", SAME_REPOSITORY)
def test_each_spelling_gives_one_key(url):
    assert remote_key(url) == "github.com/owner/repo"


IDN = "xn--bcher-kva.example/owner/repo"


@pytest.mark.parametrize("form", ["https://{}/owner/repo.git", "ssh://git@{}:22/owner/repo", "git://{}/owner/repo",
                                  "git+ssh://{}/owner/repo", "git@{}:owner/repo.git", "{}:owner/repo"])  # fmt: skip
@pytest.mark.parametrize(
    "host",
    [
        "bücher.example",
        "BÜCHER.example",
        "bu\u0308cher.example",
        "xn--bcher-kva.example",
        "XN--BCHER-KVA.EXAMPLE",
        "b%C3%BCcher.example",
        "b%c3%bccher.ex%61mple",
        "bücher。example",
    ],
)
def test_idn_hosts_become_punycode_in_every_form(form, host):
    assert remote_key(form.format(host)) == IDN


def test_an_idn_of_mixed_labels_is_one_host():
    expected = "xn--bcher-kva.xn--fsqu00a.example/a/b"
    for host in ("bücher.例子.example", "xn--bcher-kva.例子.example", "bücher.xn--fsqu00a.example"):
        assert remote_key(f"https://{host}/a/b") == expected
        assert remote_key(f"git@{host}:a/b") == expected


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("ssh://git@[2001:DB8::0001]:22/owner/repo.git", "[2001:db8::1]/owner/repo"),
        ("https://[2001:db8:0:0:0:0:0:1]/owner/repo.git", "[2001:db8::1]/owner/repo"),
        ("git@[2001:DB8::1]:owner/repo.git", "[2001:db8::1]/owner/repo"),
        ("[2001:db8::1]:owner/repo.git", "[2001:db8::1]/owner/repo"),
        ("[::1]:repo", "[::1]/repo"),
        ("https://gitlab.com/group/sub/group/repo.git", "gitlab.com/group/sub/group/repo"),
        ("host:repo", "host/repo"),
        ("my_alias:repo", "my_alias/repo"),
        ("my alias:repo", "my alias/repo"),
        ("C:/repos/foo.git", "c/repos/foo"),
        ("ssh://host/~me/repo.git", "host/~me/repo"),
        ("host:~/repo.git", "host/~/repo"),
        # the path of the scp form is kept as written
        ("host:a/../b.git", "host/a/../b"),
        ("host:a?b#c.git", "host/a?b#c"),
        ("host:中文/仓库.git", "host/中文/仓库"),
        ("host:a:b", "host/a:b"),
        ("https://host/中文/repo", "host/%E4%B8%AD%E6%96%87/repo"),
        ("https://host/a b", "host/a%20b"),
        ("https://host/repo.git.git", "host/repo.git"),
        ("host:a\\b", "host/a\\b"),
        ("ssh://host/a\\b", "host/a\\b"),
        ("https://host\\a\\b", "host/a/b"),
        ("https://127.0.0.1/r", "127.0.0.1/r"),
        ("https://0x7f.1/r", "127.0.0.1/r"),
        ("host:re\udcffpo", "host/re\ufffdpo"),
    ],
)
def test_keys_of_other_forms(url, key):
    assert remote_key(url) == key


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/repos/foo.git",
        "./foo.git",
        "../foo.git",
        "./host:foo",
        "foo",
        "foo/bar:baz",
        "file:///srv/repos/foo.git",
        "file://host/srv/foo.git",
        "FILE:///srv/foo.git",
        "git+file:///srv/foo.git",
        "git+http://host/foo.git",
        "ftp://host/foo.git",
        "rsync://host/foo.git",
        "ext::sh -c something",
        "codecommit::eu-west-1://repo",
        "https://github.com",
        "https://github.com/",
        "https://github.com/.git",
        "https://github.com/..",
        "ssh://host",
        "ssh:///path/only",
        "https://",
        "https://host:port/a/b",
        "https://host:70000/a/b",
        "ssh://git@github.com:owner/repo.git",
        "https://ho st/a",
        "host:",
        "host:/",
        "host:.git",
        "host:..",
        ":path",
        "user@:path",
        "[]:path",
        "[::1:path",
        "[zz::1]:path",
    ],
)
def test_what_is_no_usable_remote_gives_no_key(url):
    assert remote_key(url) is None


_label = st.from_regex(r"\A([xX][nN]--)?[A-Za-z0-9_-]{1,6}\Z")
_host = st.lists(_label, min_size=1, max_size=4).map(".".join)
_user = st.from_regex(r"\A([A-Za-z0-9._~%!$&*+,;=:@-]{0,8}@)?\Z")
_port = st.from_regex(r"\A(:[0-9]{0,6})?\Z")
_path = st.from_regex(r"\A(/[A-Za-z0-9._~+@-]{0,5}){0,4}\Z")
_scheme = st.sampled_from(["http", "https", "ssh", "git", "git+ssh", "git+https"])


@settings(max_examples=600, deadline=None)
@given(scheme=_scheme, user=_user, host=_host, port=_port, path=_path)
def test_the_fast_road_gives_what_the_whatwg_rules_give(scheme, user, host, port, path):
    url = f"{scheme}://{user}{host}{port}{path}"
    plain = remotes._plain_key(url)
    if plain is not None:
        assert plain == remotes._whatwg_key(url)
    assert remote_key(url) == remotes._whatwg_key(url)


def test_the_fast_road_is_taken_by_everyday_urls():
    for url in ("https://github.com/owner/repo.git", "ssh://git@host.example:29418/a/b", "https://u:p@h/a_b/c.d"):
        assert remotes._plain_key(url) is not None


@settings(max_examples=300, deadline=None)
@given(host=_host)
def test_plain_hosts_need_no_rules(host):
    if remotes._is_plain_host(host):
        assert remotes._whatwg_host(host) == host.lower()


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=40) | st.text(alphabet="ab:/@[].git%2e?#\\ \n\0", max_size=24).map("https://h".__add__))
def test_any_text_is_answered(url):
    key = remote_key(url)
    assert key is None or (key.split("/")[0] and key.isprintable() is not None and "/" in key)


def test_ada_url_is_imported_only_for_what_is_not_plain():
    code = (
        "import sys; from pony_memory.scopes.remotes import remote_key\n"
        "remote_key('https://github.com/o/r.git'); remote_key('git@github.com:o/r.git'); remote_key('/srv/x')\n"
        "remote_key('ssh://git@host:22/o/r'); print('ada_url' in sys.modules)\n"
        "remote_key('https://b\\u00fccher.example/a'); print('ada_url' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
