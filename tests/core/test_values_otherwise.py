"""The same value in other words, digits and signs; and two values that differ beside it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from wellkept.core.differences.find import differences
from wellkept.core.lexicon import lexicon
from wellkept.core.reading.features import features
from wellkept.core.reading.in_words.clock_times import clock_with_tail, spoken_clock
from wellkept.core.reading.in_words.numbers import number_in_words
from wellkept.core.reading.values import cjk_number, identifier_value, number_value, same_value, version_value

_FOUR = Decimal(4)
_OF_VALUES = {"number", "unit", "version", "identifier", "date", "time"}


def _found(text: str) -> list[str]:
    return [token.value.key for token in features(text).values if token.value]


def _vetoes(a: str, b: str) -> bool:
    there, back = ({item.kind for item in differences(*pair)} & _OF_VALUES for pair in ((a, b), (b, a)))
    assert there == back
    return bool(there)


@pytest.mark.parametrize(
    ("language", "words", "number", "taken"),
    [
        ("en", "two thousand five hundred euros", 2500, 4),
        ("en", "four hundred and twenty thousand", 420_000, 5),
        ("en", "eleven hundred and fifty", 1150, 4),
        ("en", "one hundred and two hundred", 100, 2),
        ("en", "one hundred and thousand", 100, 2),
        ("fr", "dix et vingt", 10, 1),
        ("es", "diez y cien", 10, 1),
        ("pt", "dois e cem", 2, 1),
        ("de", "hundert und tausend", 100, 1),
        ("en", "two thousand three thousand", 2000, 2),
        ("en", "two thousand and", 2000, 2),
        ("en", "twenty and thirty", 20, 1),
        ("en", "ten five", 10, 1),
        ("en", "two three", 2, 1),
        ("en", "twenty twenty", 20, 1),
        ("en", "two dozen eggs", 24, 2),
        ("en", "million users", 1_000_000, 1),
        ("en", "hundred hundred", 100, 1),
        ("en", "five million million", 5_000_000, 2),
        ("en", "two hundred hundred", 200, 2),
        ("de", "achtundvierzig", 48, 1),
        ("de", "zweihundertfünfzig euro", 250, 1),
        ("de", "hundertundfünf", 105, 1),
        ("de", "dreitausendvierhundertzweiundzwanzig", 3422, 1),
        ("es", "treinta y ocho", 38, 3),
        ("es", "ciento veinte", 120, 2),
        ("es", "doscientas cincuenta", 250, 2),
        ("fr", "dix neuf", 19, 2),
        ("fr", "quarante huit", 48, 2),
        ("fr", "quatre vingt dix sept", 97, 4),
        ("fr", "cent quatre vingt", 180, 3),
        ("fr", "soixante et onze", 71, 3),
        ("fr", "dix deux", 10, 1),
        ("fr", "trente onze", 30, 1),
        ("fr", "quatre douzaines", 48, 2),
        ("it", "trecentoventotto", 328, 1),
        ("it", "quarantacinque", 45, 1),
        ("it", "sessantunomila", 61_000, 1),
        ("pt", "cento e vinte e dois", 122, 5),
        ("ru", "сто двадцать семь", 127, 3),
        ("ru", "двух тысяч", 2000, 2),
    ],
)
def test_numbers_in_words_are_read_whole(language: str, words: str, number: int, taken: int) -> None:
    found = number_in_words(words.split(), lexicon().languages[language])
    assert found == (number, taken, False)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "users"),
        ("de", "achtung"),
        ("de", "und"),
        ("de", "dreiund"),
        ("de", "vierfünf"),
        ("de", "hundert" * 8),
        ("it", "treno"),
        ("ru", "двор"),
    ],
)
def test_other_words_are_no_numbers(language: str, words: str) -> None:
    assert number_in_words(words.split(), lexicon().languages[language]) is None


@pytest.mark.parametrize(
    ("language", "words", "rank"),
    [("en", "twenty first of may", 21), ("ru", "сорок первой школе", 41), ("en", "one hundred twenty third", 123)],
)
def test_an_ordinal_behind_tens_belongs_to_them(language: str, words: str, rank: int) -> None:
    found = number_in_words(words.split(), lexicon().languages[language])
    assert found is not None and found.amount == rank and found.is_rank


def test_an_ordinal_behind_ones_is_another_number() -> None:
    found = number_in_words(["two", "first"], lexicon().languages["en"])
    assert found == (2, 1, False)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("It costs EUR 200 or USD 1.5k.", ["n:EUR:200", "n:USD:1500"]),
        ("The house is for sale, GBP 0.42m.", ["n:GBP:420000"]),
        ("The rope is 0.5m long.", ["n:length:0.5"]),
        ("We pay 5 k€ for it.", ["n:EUR:5000"]),
        ("Version 200 of it.", ["v:200"]),
        ("Growth was 4 per cent at 195 degrees Celsius.", ["n:share:0.04", "n:celsius:195"]),
        ("The backup takes half an hour, not an hour and a half.", ["n:time:1800", "n:time:5400"]),
        ("half a dozen of half the users", ["n::6"]),
        ("two and a half hours, three days and a half", ["n:time:9000", "n:time:302400"]),
        ("a million and a half bucks", ["n:USD:1500000"]),
        ("on the twenty-first of May", ["d:-5-21--"]),
        ("in the twenty-first row", ["o:21"]),
        ("The contract runs until 31/1/27.", ["d:2027-1-31--"]),
        ("a minor release, 6 weeks later", ["n:time:3628800"]),
        ("three-two-one, ten thousand, five", ["n::3", "n::2", "n::1", "n::10000", "n::5"]),
        ("Der Kurs dauert anderthalb Stunden und kostet achtundvierzig Euro.", ["n:time:5400", "n:EUR:48"]),
        ("Der Kurs läuft im dritten Stock eine halbe Stunde.", ["o:3", "n:time:1800"]),
        ("El vuelo sale a las ocho menos cuarto.", ["t:465|1185"]),
        ("La clase es a las 5 y media de la tarde.", ["t:330|1050"]),
        ("Para el taller se compraron cinco y media toneladas.", ["n:mass:5500000"]),
        ("Le train part à neuf heures et quart du soir.", ["t:555|1275"]),
        ("La redazione si riunisce alle nove e mezza.", ["t:570|1290"]),
        ("Il corso dura mezz'ora.", ["n:time:1800"]),
        ("Wir treffen uns heute um halb acht.", ["d:----0", "t:450|1170"]),
        ("Мы встретимся в половине шестого.", ["t:330|1050"]),
        ("Лёва учится в 8-м классе, в 41-й школе.", ["o:8", "o:41"]),
        ("Перерыв длится полтора часа.", ["n:time:5400"]),
        ("駐車場代は月1万2千円だ。", ["n:JPY:12000"]),
        ("駐車場は1万2,000円です。", ["n:JPY:12000"]),
        ("家賃は3万円です。", ["n:JPY:30000"]),
        ("価格は3千5000円です。", ["n::3000", "n:JPY:5000"]),
        ("说明会在二月十日举行。", ["d:-2-10--"]),
        ("每月付四千五百元房租。", ["n:CNY:4500"]),
    ],
)
def test_values_are_read_from_words_signs_and_phrases(text: str, keys: list[str]) -> None:
    assert _found(text) == keys


def test_ideographs_count_to_myriads() -> None:
    assert [cjk_number(text) for text in ("十二", "一百零五", "三千", "十二万", "一亿二千万")] == [
        12,
        105,
        3000,
        120_000,
        120_000_000,
    ]


def test_hours_in_words_need_an_hour_and_known_words() -> None:
    english, spanish = lexicon().languages["en"], lexicon().languages["es"]
    assert spoken_clock(["half", "past", "noon"], "at", english) is None
    assert spoken_clock(["half"], "at", english) is None
    assert clock_with_tail(30, ["y", "media"], spanish) is None
    assert clock_with_tail(9, ["o", "media"], spanish) is None


def test_a_degree_may_be_of_either_scale_and_a_version_may_leave_out_its_zero() -> None:
    plain, celsius, fahrenheit = (number_value(_FOUR, unit) for unit in ("°", "°C", "°F"))
    assert same_value(plain, celsius) and same_value(fahrenheit, plain) and not same_value(celsius, fahrenheit)
    assert same_value(version_value("4.0"), number_value(_FOUR, None))
    assert not same_value(version_value("4.1"), number_value(_FOUR, None))
    assert not same_value(identifier_value("u12"), identifier_value("u13"))


@pytest.mark.parametrize(
    ("text", "same", "other"),
    [
        # Ordinals and numbers beside their noun.
        (
            "The first leg of the trip goes to Zanele.",
            "road trip, leg 1: Zanele drives",
            "road trip, leg 2: Zanele drives",
        ),
        ("The third floor has the printer.", "The printer? Floor 3.", "The fourth floor has it."),
        ("Лёва ходит в восьмой класс.", "лёва сейчас в 8-м классе", "лёва сейчас в 7-м классе"),
        (
            "Der dritte Stock beherbergt das Lektorat.",
            "Das Lektorat ist auf Etage 3.",
            "Das Lektorat ist im vierten Stock.",
        ),
        ("退款最迟第三个工作日到账。", "审核通过后3个工作日内退款到账。", "审核通过后5个工作日内退款到账。"),
        # Names of a letter and a number.
        ("Churn in the second quarter was high.", "Q2 had a high churn.", "In the third one it was high."),
        # Dates without a year, and days that share a month.
        (
            "Rechnung 17 ist fällig am 05.07.",
            "Am 5. Juli 2026 ist Rechnung 17 fällig.",
            "Am 6. Juli ist Rechnung 17 fällig, 8 Tage.",
        ),
        (
            "The shop is ours from 2 to Friday.",
            "Until Friday, from 2 on, the shop is ours.",
            "From 3 to Friday it is ours.",
        ),
        ("Salt Road premiere: 03-03", "Salt Road is first shown on March 3rd.", "Salt Road is first shown on 4 April."),
        ("Hana flies to Lisbon on 12/05.", "On the twelfth of May Hana flies.", "Hana flies to Lisbon on 13/05."),
        ("The hotel is ours from 2 to 6 April.", "2–6 April: that hotel is ours.", "6–9 April: that hotel is ours."),
        ("Abstracts are due on 10 May, a Saturday.", "Abstracts: Sat 10 May", "Abstracts: Fri 9 May"),
        (
            "入学説明会は2月10日（土）に行う。",
            "入学説明会の日時は二月十日の土曜日。",
            "入学説明会の日時は三月十日の日曜日。",
        ),
        # Hours.
        (
            "On Thursdays we call at four, for 30 minutes.",
            "Thursday call: 16:00, 30 min",
            "Thursday call: 17:00, 20 min",
        ),
        (
            "The office opens at nine on Mondays in Berlin.",
            "The office in Berlin opens on Mondays at nine o'clock.",
            "The office in Berlin opens at ten on Mondays.",
        ),
        (
            "Landing in Addis at 2140, flight 31.",
            "I land in Addis at 9:40 pm with flight 31.",
            "Landing in Addis with flight 32.",
        ),
        ("Отправление поезда в 18.42.", "Поезд отправляется в 18:42.", "Поезд отправляется в 18.47."),
        # Amounts.
        ("Rent is €1,150.", "The rent comes to eleven hundred and fifty euros.", "The rent is eleven hundred euros."),
        (
            "Die Lieferung dauert 48 Stunden.",
            "Man liefert binnen achtundvierzig Stunden.",
            "Man liefert binnen 24 Stunden.",
        ),
        (
            "La quota è di 48 euro.",
            "La quota che si deve pagare è di quarantotto euro.",
            "La quota che si deve pagare è di quarantadue euro.",
        ),
        (
            "El gimnasio cuesta 38 €.",
            "Por el gimnasio se pagan treinta y ocho euros.",
            "Por el gimnasio se pagan treinta y nueve euros.",
        ),
        (
            "La ferme compte 97 nœuds.",
            "Quatre-vingt-dix-sept nœuds : voilà la ferme.",
            "Quatre-vingt-sept nœuds : voilà la ferme.",
        ),
        (
            "O apartamento tem 74 quartos.",
            "São setenta e quatro quartos no apê.",
            "São setenta e cinco quartos no apê.",
        ),
        ("В доме 127 жильцов.", "Сто двадцать семь жильцов живут в доме.", "Сто двадцать восемь жильцов живут тут."),
        ("房租每月4500元。", "每月付四千五百元房租。", "每月付四千六百元房租。"),
    ],
)
def test_a_value_written_otherwise_is_no_difference_and_another_value_is_one(text: str, same: str, other: str) -> None:
    assert not _vetoes(text, same)
    assert _vetoes(text, other)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("In force since 05/07.", "It was 07/05 when it came into force."),  # which of both is the month?
        ("Due on 5 July.", "The due date is 7 May."),
        ("At 7:00 the 8 members meet.", "The 7 members meet at 8:00."),
        ("The prod-12 box is down.", "The box that is down: pre-12"),
        ("Her iPhone-4s is broken.", "What is broken is her iPhone-4."),
        ("The oven is set to 195 °C.", "Somebody set the oven to 195 °F."),
        ("We moved the build to db1 last week.", "Last week we moved the build to d1."),
        ("The backup goes to s3.", "To server3 goes the backup."),
        ("The budget is 1830.", "What the budget is: 18.30."),
        ("Shipping costs 12.50.", "What shipping costs: 1250."),
        ("Entre dix et vingt serveurs tournent.", "Les serveurs qui tournent : 200."),
    ],
)
def test_what_may_be_read_both_ways_explains_nothing_that_may_be_too(a: str, b: str) -> None:
    assert _vetoes(a, b)
