"""What of a text stays when its figures and dates change.

Left out are words with a digit, and names of months and weekdays (and their abbreviations) that
stand beside such a word or beside a name that is left out: "Monday, 3 March 2026" goes, "a March
wind" stays. So does a name among figures that means something else ("may", "sun", "mar"), which
hides a change of that word only.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["steady_hash_of", "steady_words"]

NAMES = frozenset(
    # English
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday "
    "saturday sunday mon tue tues wed thu thur thurs fri sat sun am pm "
    # German
    "januar jänner februar märz mai juni juli oktober dezember mrz okt dez montag dienstag "
    "mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so uhr "
    # French
    "janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi "
    "mercredi jeudi vendredi samedi dimanche "
    # Spanish
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre de "
    "lunes martes miércoles jueves viernes sábado domingo "
    # Italian
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre lunedì martedì "
    "mercoledì giovedì venerdì sabato domenica "
    # Portuguese
    "janeiro fevereiro março maio junho julho setembro outubro novembro dezembro segunda terça "
    "quarta quinta sexta feira "
    # Dutch
    "januari februari maart mei augustus maandag dinsdag woensdag donderdag vrijdag zaterdag "
    "zondag".split()
)
"""Words of dates in seven languages, as `page.words` has them."""


def steady_words(found: Sequence[str]) -> list[str]:
    """Return words without figures and dates.

    Examples
    --------
    >>> steady_words("on monday 3 march 2026 a march wind sold 12 hats".split())
    ['on', 'a', 'march', 'wind', 'sold', 'hats']
    """
    # Most words are of letters only, which one look tells.
    left_out = [not word.isalpha() and any(map(str.isdigit, word)) for word in found]
    figures = [place for place, is_out in enumerate(left_out) if is_out]
    for step in (1, -1):
        for figure in figures:
            place = figure + step
            while 0 <= place < len(found) and not left_out[place] and found[place] in NAMES:
                left_out[place] = True
                place += step
    return [word for word, is_out in zip(found, left_out, strict=True) if not is_out]


def steady_hash_of(found: Sequence[str]) -> bytes:
    """Return 16 bytes that are equal for words that are the same but for figures and dates."""
    joined = " ".join(steady_words(found)).encode("utf-8", "surrogatepass")
    return blake2b(joined, digest_size=16).digest()
