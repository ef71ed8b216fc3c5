"""A generated store: seeded, Zipf vocabulary, one fifth of the text Chinese, and the query mix that goes with it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

SEED = 20_260
FILES = 512
BYTES = 2 * 1024 * 1024
CHINESE_SHARE = 0.2
VOCABULARY = 20_000
HAN = range(0x4E00, 0x4E00 + 2_500)


@dataclass(frozen=True)
class Generated:
    texts: list[str]
    queries: list[str]


def generate(files: int = FILES, size: int = BYTES) -> Generated:
    """Texts of about ``size`` bytes in all, and 60 queries: 2 to 5 words, one fifth Chinese, one in ten of one word."""
    dice = random.Random(SEED)
    words = [_word(dice) for _ in range(VOCABULARY)]
    weights = [1 / (rank + 1) for rank in range(VOCABULARY)]
    pairs = [chr(dice.choice(HAN)) + chr(dice.choice(HAN)) for _ in range(4_000)]
    pair_weights = [1 / (rank + 1) for rank in range(len(pairs))]
    texts: list[str] = []
    each = size // files - 90
    for _ in range(files):
        title = " ".join(dice.choices(words, weights, k=3))
        lines = [f"---\nname: {title}\ndescription: {' '.join(dice.choices(words, weights, k=6))}\n---\n"]
        left = each
        while left > 0:
            if dice.random() < CHINESE_SHARE:
                line = "".join(dice.choices(pairs, pair_weights, k=12)) + "。"
            else:
                line = " ".join(dice.choices(words, weights, k=12)) + "."
            left -= len(line.encode()) + 1
            lines.append(line + ("\n\n" if dice.random() < 0.2 else "\n"))
        texts.append("".join(lines))
    queries: list[str] = []
    for number in range(60):
        count = 1 if number % 10 == 0 else dice.randint(2, 5)
        if number % 5 == 0:
            queries.append("".join(dice.choices(pairs, pair_weights, k=count)))
        else:
            queries.append(" ".join(dice.choices(words[:4_000], weights[:4_000], k=count)))
    return Generated(texts, queries)


def write(texts: list[str], directory: Path) -> None:
    """The texts as User Notes below ``directory``, eight folders of them."""
    for number, text in enumerate(texts):
        folder = directory / f"d{number % 8}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"n{number:06}.md").write_text(text, encoding="utf-8")


def _word(dice: random.Random) -> str:
    syllables = ("ba", "co", "di", "fer", "gal", "ho", "in", "jor", "ka", "lem", "mo", "nu", "or", "pel", "ri", "ston")
    return "".join(dice.choices(syllables, k=dice.randint(2, 4))) + dice.choice(("", "", "s", "ed", "ing"))
