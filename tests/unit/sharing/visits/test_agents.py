"""What user agents say: browsers and devices, bots, and who only draws previews."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.visits import CHROME, GOOGLEBOT, IPHONE
from waypost.sharing.visits.agents import LONGEST_AGENT, Agent, classify, is_preview

ANDROID = "Mozilla/5.0 (Linux; Android {}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0{} Safari/537.36"


@pytest.mark.parametrize(
    ("text", "browser", "system", "device"),
    [
        (CHROME, "Chrome", "Windows", "desktop"),
        (IPHONE, "Mobile Safari", "iOS", "phone"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0", "Firefox", "Linux", "desktop"),
        (ANDROID.format("13; Pixel 7", " Mobile"), "Chrome Mobile", "Android", "phone"),
        (ANDROID.format("13; SM-X900", ""), "Chrome", "Android", "tablet"),
        (IPHONE.replace("iPhone; CPU iPhone OS", "iPad; CPU OS"), "Mobile Safari", "iOS", "tablet"),
        ("Mozilla/5.0 (SMART-TV; Linux; Tizen 5.0) AppleWebKit/538.1 TV Safari/538.1", "Safari", "Tizen", "other"),
        ("curl/8.0.1", "curl", "", "other"),
        ("nobody has seen this before", "", "", "other"),
        ("", "", "", ""),
    ],
)
def test_people_are_told_apart_by_browser_system_and_device(text: str, browser: str, system: str, device: str) -> None:
    found = classify(text)
    assert (found.browser, found.system, found.device, found.is_bot) == (browser, system, device, False)


@pytest.mark.parametrize(
    "text",
    [
        GOOGLEBOT,
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot",
        "UptimeRobot/2.0",
    ],
)
def test_bots_are_recognised(text: str) -> None:
    assert classify(text).is_bot


@pytest.mark.parametrize("text", ["curl/8.0.1", "Wget/1.21.3", "python-httpx/0.28", "python-requests/2.31.0"])
def test_tools_that_people_run_are_no_bots(text: str) -> None:
    assert not classify(text).is_bot
    assert not is_preview(text)


@pytest.mark.parametrize(
    "text",
    [
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "WhatsApp/2.23.20.0",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "Twitterbot/1.0",
        "TelegramBot (like TwitterBot)",
        "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
        "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
        # iMessage
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
        "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5",
        "http.rb/5.1.1 (Mastodon/4.2.1; +https://mastodon.example/)",
        "Mastodon/4.3.0 (http.rb/5.2.0; +https://mastodon.example/)",
        "Mozilla/5.0 (compatible; Bluesky Cardyb/1.1)",
        "Signal",
    ],
)
def test_what_draws_previews_of_links_is_recognised(text: str) -> None:
    assert is_preview(text)


@pytest.mark.parametrize(
    "text",
    [
        CHROME,
        IPHONE,
        GOOGLEBOT,
        "",
        # Browsers inside of apps, in which people follow links.
        f"{IPHONE} [FBAN/FBIOS;FBAV/443.0]",
        f"{IPHONE} Instagram 312.0",
        f"{IPHONE} Line/13.20",
        f"{IPHONE} [Pinterest/iOS]",
    ],
)
def test_browsers_and_crawlers_are_no_previews(text: str) -> None:
    assert not is_preview(text)


@given(st.text(max_size=2000))
def test_any_text_is_taken_and_names_stay_short(text: str) -> None:
    found = classify(text)
    assert found == classify(text[:LONGEST_AGENT])
    assert max(len(found.browser), len(found.system)) <= 64
    assert is_preview(text) == is_preview(text[:LONGEST_AGENT])


def test_what_comes_after_the_longest_agent_is_not_looked_at() -> None:
    assert classify("x" * LONGEST_AGENT + GOOGLEBOT) == Agent("", "", "other", is_bot=False)
