"""Which texts are English: that decides which network reads them, and by which bounds the gate acts."""

from __future__ import annotations

import pytest

from wellkept.core.reading.language_detection import is_english

ENGLISH = [
    "Tea at four",
    "The rent is 900 euros.",
    "Production gateway: TLS 1.3.",
    "Rent: 900 euros",
    "Meeting moved to Friday",
    "The café closes at nine.",
    "Staging URL changed",
    "likes jazz",
    "deploy done",
    "postgres 16 on port 5432",
]
OTHERS = [
    ("de", "Miete: 900 Euro"),
    ("de", "wohnt in Bonn"),
    ("fr", "Loyer : 900 euros"),
    ("fr", "habite à Nantes"),
    ("es", "Dentista: jueves"),
    ("es", "Transporte: Ilić"),
    ("it", "Affitto: 900 euro"),
    ("pt", "mora em Lisboa"),
    ("nl", "huur 900 euro"),
    ("sv", "hyra 900 kr"),
    ("da", "Huslejen er 900 kroner"),
    ("nb", "bor i Oslo"),
    ("fi", "vuokra 900 euroa"),
    ("pl", "Czynsz 900 zł"),
    ("cs", "bydlí v Brně"),
    ("hu", "Bérleti díj 900 euró"),
    ("ro", "Chiria este 900 de euro"),
    ("tr", "Kira 900 lira"),
    ("id", "sewa 900 euro"),
    ("vi", "sống ở Huế"),
    ("ru", "Аренда 900"),
    ("uk", "Оренда: 900 євро"),
    ("el", "Ενοίκιο 900"),
    ("he", "שכר דירה 900"),
    ("ar", "الإيجار 900"),
    ("hi", "किराया 900"),
    ("ko", "월세 900"),
    ("ja", "家賃は900ユーロ"),
    ("zh", "房租900"),
    ("th", "ค่าเช่า 900"),
]
NEVER_LEARNT = [
    ("ca", "El lloguer és de 900 euros"),
    ("et", "Üür on 900 eurot kuus"),
    ("sw", "Kodi ya nyumba ni euro 900"),
    ("hr", "Najam iznosi 900 eura"),
    ("lt", "Nuomos kaina yra 900 eurų"),
    ("is", "Leigan er 900 evrur"),
    ("sq", "Qiraja është 900 euro"),
    ("tl", "Ang renta ay 900 euro"),
    ("af", "Die huur is 900 euro"),
]
SAYS_NOTHING = [
    "",
    " \n",
    "42",
    "2026-04-01 19:00",
    "\U0001f91f \U0001f44d",
    "+1",
    "München",
    "merci",
    "LGTM",
    "Petar Ilić",
    "Nguyễn Văn An",
    "José García",
    "São Paulo",
    "v1.2.3",
    "192.168.0.1",
    "Redis 7.2",
    "README.md",
    "src/main.py",
    "user_id, order_id",
    "getUserById",
    "https://example.com/miete",
    "npm run build",
    "git push origin main",
    "kubectl get pods -n prod",
    "docker compose up -d",
    "SELECT * FROM users",
    "def main() -> None:",
    "10 µm",
]
MIXED = [
    ("Das Meeting ist am Freitag, Agenda in Confluence", False),
    ("Usamos Postgres en staging", False),
    ("把 deployment 改成 production", False),
    ("Релиз теперь по пятницам, tag ставит CI", False),
    ("In Kyoto they are staying at the Hoshikage ryokan.", True),
    ("The German word for rent is Miete.", True),
    ("The sign over the gate says Добро пожаловать in Russian", True),
    ("The Chinese name of the river is 长江, they said.", True),
]


@pytest.mark.parametrize("text", [*ENGLISH, *SAYS_NOTHING])
def test_english_and_what_says_nothing_of_its_language_are_english(text):
    assert is_english(text)


@pytest.mark.parametrize(("lang", "text"), [*OTHERS, *NEVER_LEARNT])
def test_short_texts_of_other_languages_are_not_english(lang, text):
    assert not is_english(text)


@pytest.mark.parametrize(("text", "english"), MIXED)
def test_a_text_of_two_languages_is_what_most_of_it_is(text, english):
    assert is_english(text) is english


def test_letters_that_are_written_in_two_ways_are_the_same():
    assert not is_english("bydli\u0301 v Brne\u030c")


def test_the_start_of_a_text_decides():
    english, german = "The rent is 900 euros. ", "Die Miete ist nun 900 Euro. "
    assert is_english(english * 100 + german * 1000)
    assert not is_english(german * 100 + english * 1000)
