"""SPEC §9: credentials are refused in every durable write, by kind and line, and never repeated."""

from __future__ import annotations

import contextlib
import random
import re
import string
import subprocess
import sys
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pony_memory.errors import SensitiveContent
from pony_memory.writes.secret_prefixes import redact_prefixes
from pony_memory.writes.secrets import check_text, findings, is_secret_name

# Put together here, so that no scanner of this repository takes the tests for a leak.
_RANDOM = random.Random(9)


def _chars(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "a1B" + "".join(_RANDOM.choice(alphabet) for _ in range(count - 3))


_HEX = string.hexdigits.lower()[:16]
_UPPER = string.ascii_uppercase + string.digits

SECRETS: dict[str, str] = {
    "openai": "sk-" + _chars(48),
    "openai without a digit": "sk-" + "abcdEFGH" * 5,
    "openai project": "sk-proj-" + _chars(40) + "_" + _chars(30),
    "openai service account": "sk-svcacct-" + _chars(40),
    "anthropic": "sk-ant-api03-" + _chars(90),
    "github classic": "ghp_" + _chars(36),
    "github oauth": "gho_" + _chars(36),
    "github server": "ghs_" + _chars(36),
    "github fine-grained": "github_pat_" + _chars(22) + "_" + _chars(59),
    "aws access key": "AKIA" + "Q3" + "".join(_RANDOM.choice(_UPPER) for _ in range(14)),
    "aws session key": "ASIA" + "Q3" + "".join(_RANDOM.choice(_UPPER) for _ in range(14)),
    "aws secret": "aws_secret_access_key = " + _chars(38) + "/+",
    "aws secret quoted": 'AWS_SECRET_ACCESS_KEY="' + _chars(40) + '"',
    "google api": "AIza" + _chars(35),
    "google oauth": "GOCSPX-" + _chars(28),
    "slack bot": "xoxb-" + "123456789012-1234567890123-" + _chars(24),
    "slack app": "xapp-1-A012345678-1234567890123-" + _chars(32, _HEX),
    "slack webhook": "https://hooks.slack.com/services/T0" + "1ABCDEF/B01ABCDEF/" + _chars(24),
    "npm": "npm_" + _chars(36),
    "npmrc": "//registry.npmjs.org/:_authToken=" + "0f3c2a1b-1111-2222-3333-444455556666",
    "hugging face": "hf_" + _chars(34),
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "private key pkcs8": "-----BEGIN " + "PRIVATE KEY-----",
    "private key openssh": "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
    "private key encrypted": "-----BEGIN ENCRYPTED " + "PRIVATE KEY-----",
    "private key pgp": "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----",
    "bearer header": "Authorization: Bearer " + _chars(32),
    "bearer header short": "authorization: bearer " + "abc123def456",
    "bearer alone": "curl -H 'Bearer " + _chars(40) + "'",
    "basic header": "Authorization: Basic " + "dXNlcjpwYXNzd29yZDE=",
    "json web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + _chars(43),
    "url password": "postgres://app:" + "hunter2@db.internal:5432/app",
    "stripe": "sk_live_" + _chars(24),
    "gitlab": "glpat-" + _chars(20),
    "sendgrid": "SG." + _chars(22) + "." + _chars(43),
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + _chars(80),
    "telegram": "123456789:AA" + _chars(33),
    "azure storage": "AccountKey=" + _chars(86) + "==",
    "password is": "The staging password is " + "hunter2",
    "password is, plain word": "the password is " + "swordfish",
    "password is, plain word and more": "The password is " + "swordfish, do not tell anyone.",
    "password quoted": "password: '" + "opensesame x9z'",
    "password digits": "password is " + "12345678",
    "password for a host": "password for the staging db is " + "Tr0ub4dor&3",
    "password assignment": "DB_PASSWORD=" + "hunter2",
    "password json": '{"password": "' + 'hunter2!"}',
    "password yaml": "password: " + "s3cr3tpw",
    "passphrase": "The passphrase is correct " + "horse battery staple",
    "password flag": "mysql --user root --password " + "hunter22",
    "password changed": "I changed the password to " + "hunter2",
    "password next line": "Password:\n    " + "hunter2",
    "chinese password": "密码是 " + "hunter2",
    "chinese password, no space": "数据库密码是" + "hunter2，别告诉别人",
    "chinese password, full width": "密码：" + "swordfish",
    "chinese password changed": "staging 的密码已经改成了 " + "hunter2",
    "chinese password, word": "服务器的密码是 " + "swordfish。",
    "chinese password, shortest": "密码是" + "x9yz",
    "chinese phrase": "口令为 " + "opensesame1",
    "api key phrase": "the api key is " + "abcd1234efgh5678",
    "chinese key phrase": "密钥是 " + "abcd1234efgh5678",
    "full-width disguise": "ｇｈｐ_" + _chars(36),
    "zero-width disguise": "gh\u200bp_" + _chars(36),
}

BENIGN = (
    "staging SSH listens on 2222, not 22; key at ~/.ssh/staging",
    "staging 的 SSH 用 2222 端口，密钥在 ~/.ssh/staging。",
    "The regression came in with commit 3f786850e387550fdab836ed7e6dc881de23001b, see the bisect.",
    "aws secret rotation landed in da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "The artefact's sha256 is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.",
    "Tenant 123e4567-e89b-12d3-a456-426614174000 is the one used in tests; token bucket size is 500.",
    "the password is stored in 1Password",
    "The password is required, at least 12 characters, and rotated every 90 days.",
    "Passwords are hashed with argon2id; the password is base64-encoded in transit.",
    "password is 16 characters or more",
    "密码存在 1Password 里，不要写进代码。",
    "密码是 8-16 位的数字和字母。",
    "密码是 bcrypt 加密后存的",
    "忘记密码的流程是先发邮件，再重置。",
    "Set PASSWORD_MIN_LENGTH=12 and read the password from $DB_PASSWORD; password: ${DB_PASSWORD}",
    "password=os.environ['DB_PASSWORD'] in settings.py, password: str in the model, api_key = getenv('OPENAI_API_KEY')",
    "Authorization: Bearer <token> is expected; Bearer authentication is required on every endpoint.",
    "The connection string looks like postgres://user:<password>@localhost:5432/app, without one postgres://localhost/app",
    "The sk-learn style estimator in task-runner-configuration-defaults-2024 needs npm_config_registry.",
    "Run `pytest -x -q`, ports 8000-8010, build 1700000000:da39a3ee5e6b4b0d3255bfef95601890afd80709.",
    "The API key is in the vault under team/payments; the token is refreshed every 15 minutes.",
    "令牌是 15 分钟过期的，密钥是 ed25519 的。",
    "The 'remember password' checkbox sets a cookie; a wrong password is rejected. The password is case-sensitive.",
    "Password is optional. Password: required. The password is empty.",
    "reset the password to continue; use a password manager like Bitwarden",
    "config.password is read from config/secrets.yml, key: user_id:1234",
    "我们的 secret 管理用 Vault，token 由 CI 注入，不落盘。",
    "日本語のパスワードはここに書かない。비밀번호는 여기에 쓰지 않는다.",
    "APPLICATION servers run in eu-west-1; the public address is 203.0.113.7:443",
    "base64 of the logo: iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
)


def _refusal(text: str, environ: dict[str, str] | None = None) -> SensitiveContent:
    with pytest.raises(SensitiveContent) as caught:
        check_text(text, environ=environ or {})
    return caught.value


@pytest.mark.parametrize("kind", SECRETS)
def test_every_kind_is_refused_with_its_line(kind):
    secret = SECRETS[kind]
    line = 2 + secret.count("\n")
    error = _refusal(f"ordinary first line\n{secret}\nordinary last line")
    assert f"line {line} " in error.message
    assert error.code == "sensitive_content"


@pytest.mark.parametrize("kind", SECRETS)
def test_the_refusal_holds_nothing_of_the_secret(kind):
    secret = SECRETS[kind]
    try:
        check_text(f"a note: {secret}", environ={})
    except SensitiveContent as error:
        told = " ".join(
            (
                "".join(traceback.format_exception(error)),
                repr(error.args),
                repr(error.__cause__),
                repr(error.__context__),
                str(error.hint),
                str(getattr(error, "__notes__", "")),
            )
        )
        value = re.findall(r"[!-~]{4,}", secret)[-1].strip("'}\":.{")
        assert value not in told
    else:
        pytest.fail("not refused")


@pytest.mark.parametrize("text", BENIGN)
def test_ordinary_notes_pass(text):
    check_text(text, environ={})
    assert redact_prefixes(text) == text


@pytest.mark.parametrize(
    "tail",
    (
        "stored in 1Password",
        "required",
        "case-sensitive",
        "wrong",
        "kept in the team vault",
        "bcrypt-hashed",
        "the same as on staging",
        "never logged",
        "$STAGING_PASSWORD",
        "<your-password>",
        "********",
        "in ~/.pgpass",
        "rotated monthly",
        "set by Terraform",
        "user-supplied",
        "not needed locally",
        "8 characters",
        "sha256 hashed",
        "in op://team/db/password",
        "null",
        "optional",
    ),
)
def test_sentences_about_a_password_pass(tail):
    check_text(f"The password is {tail}", environ={})
    check_text(f"The password is {tail}.", environ={})


def test_a_person_may_override():
    check_text(SECRETS["anthropic"], environ={}, allow=True)


def test_values_of_secret_named_variables_are_refused_by_name():
    environ = {"STAGING_TOKEN": "plain-value", "EDITOR": "vim-is-not-secret", "SHORT_TOKEN": "seven77"}
    error = _refusal("first\nuse plain-value there", environ)
    assert "STAGING_TOKEN" in error.message
    assert "line 2 " in error.message
    assert "plain-value" not in error.message
    check_text("vim-is-not-secret and seven77 are fine", environ=environ)


def test_a_value_of_eight_characters_counts_and_of_seven_does_not():
    _refusal("it is abcdefgh there", {"MY_SECRET": "abcdefgh"})
    check_text("it is abcdefg there", environ={"MY_SECRET": "abcdefg"})


def test_a_value_of_several_lines_is_found():
    _refusal("see\nfirst part\nsecond part\nend", {"DEPLOY_KEY": "first part\nsecond part"})


@pytest.mark.parametrize(
    ("name", "secret"),
    (
        ("OPENAI_API_KEY", True),
        ("DB_PASSWORD", True),
        ("PGPASSWORD", True),
        ("GITHUB_TOKEN", True),
        ("API_KEY_PROD", True),
        ("NPM_AUTH", True),
        ("GITHUB_PAT", True),
        ("SECRET", True),
        ("aws_secret_access_key", True),
        ("DB_PWD", True),
        ("PWD", False),
        ("OLDPWD", False),
        ("SSH_AUTH_SOCK", False),
        ("TOKEN_FILE", False),
        ("GIT_AUTHOR_NAME", False),
        ("KEYBOARD_LAYOUT", False),
        ("PATH", False),
        ("KEY_BINDINGS", False),
        ("PASSWORD_STORE_DIR", False),
        ("XAUTHORITY", False),
    ),
)
def test_which_names_are_secret_names(name, secret):
    assert is_secret_name(name) is secret


# Known to detect-secrets alone, or seen in the folded text only: the journal redacts by prefix rules (SPEC §7).
NOT_BY_PREFIX = frozenset(
    (
        "sendgrid",
        "pypi",
        "telegram",
        "azure storage",
        "password next line",
        "full-width disguise",
        "zero-width disguise",
    )
)


@pytest.mark.parametrize("kind", [kind for kind in SECRETS if kind not in NOT_BY_PREFIX])
def test_redaction_takes_what_the_prefix_rules_know(kind):
    after = "" if kind.startswith("private key") else "\nafter"  # a key without an end mark takes the rest with it
    redacted = redact_prefixes(f"before {SECRETS[kind]}{after}")
    assert "[redacted: " in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(after)
    assert list(findings(redacted, environ={})) == []


def test_redaction_takes_a_whole_private_key():
    key = "-----BEGIN EC " + "PRIVATE KEY-----\nabc\ndef\n-----END EC " + "PRIVATE KEY-----"
    assert redact_prefixes(f"a\n{key}\nb") == "a\n[redacted: private key]\nb"
    assert redact_prefixes("a\n" + key[:40]) == "a\n[redacted: private key]"


@given(
    st.text(alphabet=string.hexdigits.lower()[:16] + "-", min_size=1, max_size=200),
    st.sampled_from(("", "commit ", "sha256 is ", "id=")),
)
@settings(max_examples=100, deadline=None)
def test_entropy_alone_never_refuses(value, before):
    check_text(before + value, environ={})


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_text_is_judged_without_an_error_of_another_kind(text):
    with contextlib.suppress(SensitiveContent):
        check_text(text, environ={})
    redact_prefixes(text)


@given(
    st.text(max_size=80),
    st.text(max_size=80),
    st.sampled_from(("anthropic", "github classic", "github fine-grained", "hugging face")),
)
@settings(max_examples=60, deadline=None)
def test_a_token_is_found_wherever_it_stands(before, after, kind):
    _refusal(f"{before} {SECRETS[kind]} {after}")


def test_a_token_is_found_deep_in_a_very_long_line():
    for offset in (0, 3_070, 4_090, 50_000, 99_990):
        _refusal("x " * (offset // 2) + SECRETS["anthropic"] + " y" * (50_000 - offset // 2))


def test_detect_secrets_is_imported_by_a_check_only():
    code = (
        "import sys, pony_memory.writes.secrets, pony_memory.writes.secret_prefixes as p;"
        "p.redact_prefixes('password is hunter2');"
        "print([m for m in ('detect_secrets', 'requests', 'yaml') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
