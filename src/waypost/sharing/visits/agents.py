"""What a user agent says about its visitor: a person's browser, a bot, or a service that previews links."""

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from ua_parser.core import Device as ParsedDevice
    from ua_parser.core import PartialResult

# Browsers need about 200 characters; anything beyond this many tells us nothing.
LONGEST_AGENT = 512
_LONGEST_NAME = 64
_MOST_KNOWN = 4096

Device = Literal["desktop", "phone", "tablet", "other", ""]

# These fetch a link when it is written into a message, before anybody follows it. Some are bots by their names too.
_PREVIEWS = re.compile(
    r"facebookexternalhit|facebookcatalog|facebot|whatsapp/|slackbot|slack-imgproxy|twitterbot|telegrambot|discordbot"
    r"|linkedinbot|skypeuripreview|bingpreview|microsoftpreview|redditbot|pinterestbot|tumblr/|embedly|iframely"
    r"|vkshare|^viber\b|line-poker|kakaotalk-scrap|snap url preview|mattermost-bot|rocket\.chat|synapse \(bot"
    r"|(?:^|\()(?:mastodon|pleroma|akkoma|misskey)/|cardyb|(?:link|url|uri)[-_ ]?(?:preview|expand)|^signal\b"
    r"|flipboardproxy|xing-contenttabreceiver|meta-external",
    re.IGNORECASE,
)

_BOT = "Spider"
_DESKTOPS = re.compile(
    r"Windows(?! Phone| Mobile| CE)|Mac OS X|Linux|Ubuntu|Debian|Fedora|Red Hat|SUSE|Gentoo|Arch|Mint|Chrome OS"
    r"|FreeBSD|OpenBSD|NetBSD|Solaris",
    re.IGNORECASE,
)
_TELEVISIONS = re.compile(
    r"\b(?:smart-?tv|hbbtv|apple ?tv|google ?tv|android ?tv|web0?os|aft[a-z]{1,4}|bravia|tv)\b", re.IGNORECASE
)
_TABLETS = re.compile(r"ipad|tablet|kindle|\btab\b|nexus (?:7|9|10)\b|playbook", re.IGNORECASE)
_PHONES = re.compile(
    r"iphone|ipod|smartphone|phone|blackberry|windows phone|firefox os|kaios|symbian|\bmobile\b", re.IGNORECASE
)


class Agent(msgspec.Struct, frozen=True):
    """What a user agent says; names are empty where they are not known."""

    browser: str
    system: str
    device: Device
    is_bot: bool


def classify(text: str) -> Agent:
    """Reads a user agent. Takes a tenth of a millisecond or more the first time, so not for the redirect path."""
    return _classify(text[:LONGEST_AGENT])


def is_preview(text: str) -> bool:
    """Whether this agent fetches links to preview them. Quick enough for the redirect path."""
    return _is_preview(text[:LONGEST_AGENT])


def prepare() -> None:
    """Compiles the library's rules, which takes half a second that the first batch of visits should not wait for."""
    _parser()


@lru_cache(_MOST_KNOWN)
def _classify(text: str) -> Agent:
    if not text:
        return Agent("", "", "", is_bot=False)
    found = _parser()(text)
    browser = found.user_agent.family[:_LONGEST_NAME] if found.user_agent else ""
    system = found.os.family[:_LONGEST_NAME] if found.os else ""
    if found.device and found.device.family == _BOT:
        return Agent(browser, system, "other", is_bot=True)
    return Agent(browser, system, _device(text, system, found.device), is_bot=False)


@lru_cache(_MOST_KNOWN)
def _is_preview(text: str) -> bool:
    return _PREVIEWS.search(text) is not None


@cache
def _parser() -> "Callable[[str], PartialResult]":
    from ua_parser import Domain  # noqa: PLC0415 - a quarter of a second, and few commands read agents
    from ua_parser.loaders import load_builtins  # noqa: PLC0415 - the same
    from ua_parser.regex import Resolver  # noqa: PLC0415 - the same

    resolve = Resolver(load_builtins())
    return lambda text: resolve(text, Domain.ALL)


def _device(text: str, system: str, device: "ParsedDevice | None") -> Device:
    name = f"{device.family} {device.brand or ''}".replace("_", " ") if device else ""
    if _TELEVISIONS.search(text):
        return "other"
    # Android tablets leave out the word "mobile", which phones have, but some browsers give them away only by name.
    if _TABLETS.search(name) or (system == "Android" and "mobile" not in text.lower()):
        return "tablet"
    if _PHONES.search(f"{name} {system}") or (system in {"Android", "iOS"}):
        return "phone"
    return "desktop" if _DESKTOPS.match(system) else "other"
