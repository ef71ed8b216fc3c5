"""Our rules as detect-secrets plugins, beside its own named detectors (SPEC §9).

The only module that imports detect-secrets; :mod:`pony_memory.writes.secrets` imports it on the first check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any, Final

from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.cloudant import CloudantDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.ibm_cloud_iam import IbmCloudIamDetector
from detect_secrets.plugins.ibm_cos_hmac import IbmCosHmacDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.softlayer import SoftlayerDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from pony_memory.writes.secret_phrases import KEY, PASSWORD, phrase_spans
from pony_memory.writes.secret_prefixes import compiled_rules

#: Every named detector. Left out on purpose: the two entropy detectors (never entropy alone), the keyword detector
#: (it takes the prose after "secret:" for a secret; the phrase rules replace it) and public IP addresses (no secret).
_NAMED: Final[tuple[type[RegexBasedDetector], ...]] = (
    ArtifactoryDetector,
    AWSKeyDetector,
    AzureStorageKeyDetector,
    BasicAuthDetector,
    CloudantDetector,
    DiscordBotTokenDetector,
    GitHubTokenDetector,
    GitLabTokenDetector,
    IbmCloudIamDetector,
    IbmCosHmacDetector,
    JwtTokenDetector,
    MailchimpDetector,
    NpmDetector,
    OpenAIDetector,
    PrivateKeyDetector,
    PypiTokenDetector,
    SendGridDetector,
    SlackDetector,
    SoftlayerDetector,
    SquareOAuthDetector,
    StripeDetector,
    TelegramBotTokenDetector,
    TwilioKeyDetector,
)

#: What a line must hold for these detectors to be asked at all: their patterns have two open ends, and without the
#: literal in the middle a hostile line would cost quadratic time for a sure "no".
_NEEDS: Final[dict[type[RegexBasedDetector], str]] = {OpenAIDetector: "T3BlbkFJ", NpmDetector: ":_authToken="}


def _has_digit(value: str) -> bool:
    return re.search(r"[0-9]", value) is not None


#: Detectors whose pattern also fits ordinary words and numbers: what a find must be besides.
_SENSE: Final[dict[type[RegexBasedDetector], Callable[[str], bool]]] = {
    # "APERTURESCIENCE" has the shape of an encrypted Artifactory password.
    ArtifactoryDetector: _has_digit,
    # A time stamp, a colon and a commit id have the shape of a bot token; real ones have letters of both cases.
    TelegramBotTokenDetector: lambda value: re.search(r"[A-Z]", value.partition(":")[2]) is not None,
    IbmCloudIamDetector: _has_digit,
    # scheme://user:<password>@host
    BasicAuthDetector: lambda value: re.search(r"[<>{}*]", value) is None and len(value) >= 3,
}


def _prefix_detector(kind: str, pattern: re.Pattern[str]) -> RegexBasedDetector:
    class PrefixDetector(RegexBasedDetector):
        """One rule of :mod:`pony_memory.writes.secret_prefixes`."""

        secret_type = kind
        denylist = (pattern,)

    return PrefixDetector()


def _phrase_detector(kind: str) -> RegexBasedDetector:
    class PhraseDetector(RegexBasedDetector):
        """``password is …`` and its kin, English and Chinese (:mod:`pony_memory.writes.secret_phrases`)."""

        secret_type = kind
        denylist = ()

        def analyze_string(self, string: str, **_: Any) -> Generator[str, None, None]:
            yield from (string[start:end] for found, start, end in phrase_spans(string) if found == kind)

    return PhraseDetector()


def detectors() -> tuple[RegexBasedDetector, ...]:
    """Ours first: their names are the plainer ones."""
    return (
        *(_prefix_detector(kind, pattern) for kind, pattern in compiled_rules()),
        _phrase_detector(PASSWORD),
        _phrase_detector(KEY),
        *(cls() for cls in _NAMED),
    )


def finds(detector: RegexBasedDetector, text: str) -> bool:
    """Whether ``detector`` sees a credential in one piece of one line. Nothing is ever verified over the network."""
    needed = _NEEDS.get(type(detector))
    if needed is not None and needed not in text:
        return False
    sense = _SENSE.get(type(detector))
    # analyze_string is the pure half of a plugin; analyze_line may call the issuer of the key.
    return any(sense is None or sense(value) for value in detector.analyze_string(text))
