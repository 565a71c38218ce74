"""Italian by its language file: differences that forbid *same*, harmless ones, and texts that are not Italian."""

from __future__ import annotations

import pytest

from wellkept.core.differences.find import differences
from wellkept.core.reading.language_detection import language_of
from wellkept.types import DifferenceKind

CASES: list[tuple[str, str, DifferenceKind | None]] = [
    ("Il servizio usa Redis.", "Il servizio non usa Redis.", "negation"),
    ("Rilasciamo il venerdì.", "Non rilasciamo mai il venerdì.", "negation"),
    ("Usiamo npm per la build.", "Non usiamo più npm per la build.", "negation"),
    ("Nessuno usa il vecchio server.", "Tutti usano il vecchio server.", "negation"),
    ("Non usa il server nessuno.", "Il server non lo usa nessuno.", None),  # two cues deny once
    ("Non usare mai npm.", "Mai usare npm.", None),
    ("Non solo Anna lavora la domenica.", "Anna lavora la domenica.", None),
    ("La cache del sito è attivata.", "La cache del sito è disattivata.", "antonym"),
    ("È permesso fumare sulla terrazza.", "È vietato fumare sulla terrazza.", "antonym"),
    ("La riunione è alle 5 del pomeriggio.", "La riunione è alle ore 17.", None),
    ("La riunione è alle 17.", "La riunione è alle 18.", "time"),
    ("Teniamo i log per due settimane.", "Teniamo i log per 14 giorni.", None),
    ("Teniamo i log per due settimane.", "Teniamo i log per due mesi.", "unit"),
    ("Il noleggio della sala costa cento euro.", "Il noleggio della sala costa 100 €.", None),
    ("Il limite è 1.500,50 euro.", "Il limite è 1500,5 €.", None),
    ("L'affitto scade il 31 marzo.", "L'affitto scade il 31 maggio.", "date"),
    ("Il negozio è chiuso il lunedì.", "Il negozio è chiuso di lunedì.", None),
    ("Il negozio è chiuso il lunedì.", "Il negozio è chiuso il martedì.", "date"),
    ("Marco vive a Torino.", "Marco vive a Bologna.", "name"),
    ("Anna ha ringraziato Bruno.", "Bruno ha ringraziato Anna.", "name"),
    ("Anna gestisce Bruno.", "Anna è gestita da Bruno.", "name"),
    ("Anna può approvare le fatture.", "Anna deve approvare le fatture.", "value"),
    ("Servono almeno due revisori.", "Servono al massimo due revisori.", "value"),
    ("Il backup gira per Anna.", "Il backup gira con Anna.", "value"),
    ("Riavvia il nodo.", "Riavvia il nodo a meno che la coda sia vuota.", "condition"),
    ("Marta era la responsabile.", "Marta è la responsabile.", "time"),
    ("Stiamo migrando a Postgres", "Abbiamo migrato a Postgres", "time"),
    ("Chiudi il ticket quando la patch è unita", "Unisci la patch quando il ticket è chiuso", "order"),
    ("Il gatto mangia crocchette.", "Il gatto mangia crocchette.", None),
]


@pytest.mark.parametrize(("old", "new", "kind"), CASES)
def test_what_two_italian_texts_differ_in(old: str, new: str, kind: DifferenceKind | None) -> None:
    found = {item.kind for item in differences(old, new)}
    assert kind in found if kind else not found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Non usare npm nel progetto.", "it"),
        ("Il corso comincia a settembre, di sera.", "it"),
        ("La riunione è alle 17.", "it"),
        # Words of Italian that are words or names elsewhere too tell no language alone.
        ("CI on main", "en"),
        ("AI agents", "en"),
        ("Otto takes steak rare.", "en"),
        ("non-blocking IO, per core", "en"),
        ("Come home, Sue", "en"),
        ("Im Mai ist Sara da.", "de"),
        ("Il est là avec une amie.", "fr"),
        ("La casa no tiene costa.", "es"),
        ("Quem paga a casa come sempre.", "pt"),
    ],
)
def test_only_italian_texts_are_read_as_italian(text: str, code: str) -> None:
    assert language_of(text).code == code
