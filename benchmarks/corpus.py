"""Synthetic sentences of an agent's memory, from word lists with a fixed seed, the same on every machine.

A sentence has a subject, an event, a detail and mostly a circumstance, from one of a dozen topics in five languages.
Some texts have two sentences. A few percent repeat an earlier text, unchanged or in another spelling, and a few percent
change one of its figures.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

REPEATS = 0.03
UPDATES = 0.03
_PLAIN = 0.2
"""Share of sentences without a circumstance."""
_DOUBLE = 0.15
"""Share of texts of two sentences."""
_FIGURE = re.compile(r"\d+")


@dataclass(frozen=True)
class Topic:
    """Parts of sentences in one language; `frame` is their template, `{n}` a figure."""

    frame: str
    subjects: tuple[str, ...]
    facts: tuple[str, ...]
    details: tuple[str, ...]
    circumstances: tuple[str, ...]


def _parts(lines: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in lines.strip().split("|"))


_ENGLISH = _parts(
    """since the March review | because two customers asked for it | after the outage in spring
    | until somebody finds a better way | as agreed with the platform team | according to the runbook
    | which surprised everyone on call | unless the auditor objects | following a long debate
    | so that newcomers are not lost | at least during the winter months | in spite of the extra cost
    | while the old office is being rebuilt | on the advice of the vendor | as a trial for {n} weeks
    | with the budget of the last quarter | because the previous attempt failed | for legal reasons
    | before the summer freeze begins | as the field engineers had hoped | against the first estimate
    | since ticket {n} was closed | thanks to a patch from a volunteer | for about {n} people"""
)

TOPICS: tuple[Topic, ...] = (
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """The billing service | The login page | The nightly importer | The search cluster | Our mobile client
            | The thumbnail worker | The webhook relay | The pricing engine | The staging gateway | The audit trail
            | The feature flag server | The address validator | The chat bridge | The PDF renderer | The quota daemon
            | The recommendation model | The tenant router | The mail dispatcher | The barcode scanner app"""
        ),
        _parts(
            """listens on port {n} of | keeps at most {n} sessions open with | retries {n} times before it gives up on
            | writes a checkpoint every {n} seconds to | was rewritten in Rust together with | no longer depends on
            | leaks file handles when it talks to | needs a warm cache in front of | reads its secrets from
            | ships its traces to | shares a connection pool with | was moved behind | falls back to
            | times out after {n} milliseconds against"""
        ),
        _parts(
            """the eastern database | a managed queue in Oslo | the legacy mainframe | the object store
            | an encrypted volume | the internal certificate authority | the graph index | a read replica
            | the metrics collector | the partner's sandbox | the shared Redis | the container registry
            | the rate limiter | the archive bucket | a sidecar proxy | the licence server"""
        ),
        _ENGLISH,
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """Amara | Benedikt | Chiara | Dmitri | Eun-ji | Farid | Gwendolyn | Hiroshi | Ines | Jonas | Keziah
            | Lorenzo | Marit | Nikhil | Oluwaseun | Pilar | Quentin | Rosalind | Sanjay | Tove | Ulrike | Wanjiru"""
        ),
        _parts(
            """prefers written summaries to | would rather not be asked about | has been in charge of
            | wants to hand over | spends {n} hours a week on | taught {n} colleagues about | dislikes
            | asked for more detail on | took parental leave from | is allergic to surprises in | never signs off
            | learned a great deal from | keeps private notes about | collects photographs of"""
        ),
        _parts(
            """the quarterly forecast | customer interviews | database migrations | the hiring panel
            | long video calls | the onboarding course | supplier contracts | accessibility audits | code reviews
            | the travel policy | incident write-ups | the canteen menu | the robotics lab | office plants
            | the alumni network | the safety drill"""
        ),
        _ENGLISH,
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """The walnut bookcase | Grandmother's sourdough | The greenhouse heater | The garden pond | Our tabby cat
            | The cellar dehumidifier | The electric bicycle | The rain barrel | The old piano | The solar inverter
            | The tomato bed | The spare key | The attic window | The fireplace | The beehive by the fence"""
        ),
        _parts(
            """should be checked every {n} days for | stands next to | was repaired with | must be kept away from
            | needs {n} litres of water beside | attracts far too many wasps near | was bought second-hand with
            | makes an odd noise close to | looks better without | was a present that came with
            | cost {n} euros including | is watered by | survived the storm that destroyed"""
        ),
        _parts(
            """the copper kettle | loose floorboards | the neighbour's hedge | a bag of lime | the linen curtains
            | an iron bracket | mouldy apples | the compost heap | the tool shed | the toddler's sandpit
            | a jar of starter | the gutter above the porch | the winter tyres | the herb spiral"""
        ),
        _ENGLISH,
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """The Lisbon workshop | The spring fair | Our book club | The half marathon | The choir rehearsal
            | The parents' evening | The trade mission | The chess tournament | The ferry to Bergen
            | The cooking course | The planning retreat | The charity auction | The sailing trip | The film night"""
        ),
        _parts(
            """starts at {n} minutes past the hour in | was moved to | admits {n} guests to | clashes with
            | is catered by | had to be cancelled because of | begins with a tour of | will be recorded for
            | ended with a quarrel about | sold {n} tickets through | depends on fair weather for | is sponsored by
            | is photographed by"""
        ),
        _parts(
            """the town library | a Portuguese bakery | the harbour hall | the school gym | local radio
            | the botanical garden | the railway museum | the cathedral steps | a wine merchant | the youth hostel
            | the fire brigade | an open-air stage | the community kitchen | the lighthouse"""
        ),
        _ENGLISH,
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """The copper supplier | Our biggest client in Ghana | The insurance broker | The freight forwarder
            | The new distributor | The tax adviser | The packaging plant | The leasing company | The notary
            | The cleaning contractor | The pension fund | The customs agent | The translation bureau"""
        ),
        _parts(
            """grants {n} days of credit on | raised its fee by {n} percent for | lost the papers for
            | wants a written guarantee for | invoices twice a year for | sent the wrong samples of
            | offers a discount on | stopped accepting cheques for | threatens to sue over
            | asked us to insure | delivers {n} pallets of | waived the deposit for | keeps a warehouse full of"""
        ),
        _parts(
            """enamelled wire | the Rotterdam shipment | recycled cardboard | the second-floor lease
            | spare compressors | medical gloves | the pilot batch | annual maintenance | imported tiles
            | the framework agreement | the night shift | refrigerated goods | the bonded store"""
        ),
        _ENGLISH,
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """The migration script | The flaky integration test | The coverage report | The release checklist
            | A pre-commit hook | The type checker | The changelog generator | The load test | The linter baseline
            | The property-based suite | The docs build | The canary deployment | The rollback plan
            | The schema diff tool | The dependency update"""
        ),
        _parts(
            """takes {n} minutes on | silently skips | fails about once in {n} runs on | must run before
            | should never be trusted with | found {n} real bugs in | is ignored by | only works offline with
            | cannot handle | was copied from | blocks the merge of | prints misleading warnings about
            | downloads half a gigabyte for"""
        ),
        _parts(
            """generated protobuf files | the Windows runner | symbolic links | empty branches | vendored fonts
            | the ARM builder | nested submodules | non-ASCII file names | the embedded firmware
            | optional extras | the public mirror | unsigned commits | the GPU image | leap seconds"""
        ),
        _ENGLISH,
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """The patient in room nine | Doctor Achterberg | The knee brace | The migraine diary | The hearing aid
            | The physiotherapist | The blood pressure monitor | The allergy test | The dental splint
            | The sleep laboratory | The school nurse | The running coach | The nutrition plan"""
        ),
        _parts(
            """recommends {n} minutes of | ruled out | should be combined with | got worse because of
            | advises against | was adjusted to allow | replaces | is incompatible with | costs {n} francs without
            | has to be repeated after | improved noticeably through | must not be mixed with"""
        ),
        _parts(
            """swimming at noon | grapefruit juice | late coffee | compression socks | steep stairs
            | vitamin supplements | a gluten-free breakfast | breathing exercises | heavy rucksacks | screen time
            | antibiotics | the cortisone cream | interval training"""
        ),
        _ENGLISH,
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """The survey of river birds | The Mars spectrometer | The tide model | The cave painting | The ice core
            | The telescope mirror | The corpus of letters | The soil sample | The seismic station
            | The beetle collection | The climate archive | The medieval ledger | The fusion prototype"""
        ),
        _parts(
            """contains {n} errors about | confirms what was known of | contradicts the theory of
            | was calibrated against | dates from before | is missing every trace of | drifts by {n} units near
            | was financed by friends of | cannot be explained without | belongs to the same period as
            | will be published together with | shows the first evidence for"""
        ),
        _parts(
            """glacial lakes | the northern magnetic pole | Roman salt mines | volcanic ash | amber beads
            | migrating storks | the Silk Road | underground water | dark matter | early printing presses
            | coral bleaching | iron smelting | the monsoon"""
        ),
        _ENGLISH,
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """Der Ersatzschlüssel | Die Heizungsanlage | Der Serverraum | Frau Lindqvist | Die Mietkaution
            | Der Sportverein | Die Steuererklärung | Der Lieferwagen | Die Musikschule | Der Aufzug
            | Das Gartenhaus | Die Hausordnung | Der Drucker im dritten Stock | Das Projektteam"""
        ),
        _parts(
            """liegt seit {n} Tagen bei | braucht dringend | wurde verlegt wegen | verzichtet künftig auf
            | kostet {n} Euro ohne | streitet noch über | erinnert alle an | wartet auf | passt nicht mehr zu
            | wird betreut durch | haftet nicht für | hängt ab von"""
        ),
        _parts(
            """die Hausverwaltung | den neuen Vertrag | das Gutachten | die Baugenehmigung | den Hausmeister
            | die Wasserschäden | das Ersatzteil | die Nachbarschaft | den Sommerurlaub | das Finanzamt
            | die Probezeit | den Brandschutz"""
        ),
        _parts(
            """wie im Protokoll vermerkt | trotz aller Bedenken | bis auf Weiteres | seit dem Umbau
            | auf Wunsch der Kundschaft | aus Kostengründen | vorerst nur werktags | nach langer Diskussion
            | ohne dass jemand gefragt wurde | im Auftrag der Leitung | obwohl es regnete"""
        ),
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """La cafetería de la esquina | El tren de las ocho | Nuestra sucursal de Quito | El informe anual
            | La impresora nueva | Mi hermana Lucía | El equipo de soporte | La piscina municipal | El contrato marco
            | La línea de montaje | El archivo histórico | La clase de yoga"""
        ),
        _parts(
            """abre {n} minutos antes que | ya no acepta | depende por completo de | está enfrente de
            | se retrasó por culpa de | necesita {n} copias de | no tiene nada que ver con | sustituye a
            | comparte el edificio con | prefiere evitar"""
        ),
        _parts(
            """la oficina de correos | el taller mecánico | las tarjetas antiguas | el proveedor chileno
            | la biblioteca | los pedidos urgentes | el comité de seguridad | la cosecha de café
            | los manuales impresos | la temporada de lluvias | el plan de formación"""
        ),
        _parts(
            """desde principios de año | según el acta | a pesar de las quejas | hasta nuevo aviso
            | por decisión de la junta | salvo los domingos | gracias a una donación | como siempre
            | sin previo aviso | con buenos resultados"""
        ),
    ),
    Topic(
        "{s} {f} {d} {c}.",
        _parts(
            """La boulangerie du quai | Le comité d'entreprise | Notre fournisseur lyonnais | Le vieux pont
            | La salle de réunion | Le logiciel de paie | Ma cousine Élodie | Le vignoble du sud | La chorale"""
        ),
        _parts(
            """ferme {n} jours par an pour | s'oppose toujours à | a commandé {n} exemplaires de
            | ne veut plus entendre parler de | se trouve derrière | finance en partie | remplacera bientôt
            | n'a jamais reçu"""
        ),
        _parts(
            """la rénovation du toit | les horaires d'été | la nouvelle charte | le marché couvert
            | les dossiers médicaux | la fête du village | le parking souterrain | la facture d'eau"""
        ),
        _parts(
            """depuis la rentrée | malgré l'avis du maire | faute de moyens | comme prévu | à titre d'essai
            | selon le dernier courriel | sauf en cas de neige | par prudence"""
        ),
    ),
    Topic(
        "{s}{f}{d}，{c}。",
        _parts("数据库备份 | 上海办公室 | 新来的实习生 | 客户门户网站 | 仓库管理系统 | 王老师 | 支付接口"),
        _parts("每{n}小时检查一次 | 不再支持 | 已经迁移到 | 需要{n}天才能完成 | 打算取消 | 主要负责 | 暂时停用"),
        _parts("北方机房 | 旧版合同 | 英文报告 | 夜间任务 | 图书馆 | 测试环境 | 供应商名单 | 安全培训 | 移动应用"),
        _parts("因为预算有限 | 直到下个月 | 按照会议决定 | 以免出错 | 这是经理的要求 | 效果不错 | 具体原因不明"),
    ),
)


def texts(count: int, *, seed: int = 1) -> list[str]:
    """The first `count` texts of the endless series of a seed."""
    return list(islice(_series(seed), count))


def _series(seed: int) -> Iterator[str]:
    draw = random.Random(seed)
    told: list[str] = []
    seen: set[str] = set()
    while True:
        chance = draw.random()
        if len(told) > 50 and chance < REPEATS:
            yield _again(draw, draw.choice(told))
            continue
        if len(told) > 50 and chance < REPEATS + UPDATES:
            text = _updated(draw, draw.choice(told))
        else:
            text = _fresh(draw)
        if text not in seen:
            seen.add(text)
            told.append(text)
            yield text


def _fresh(draw: random.Random) -> str:
    # Topics are weighted by their number of words, so that small ones do not repeat too often.
    topic = draw.choices(TOPICS, weights=[len(topic.subjects) * len(topic.circumstances) for topic in TOPICS])[0]
    frame = topic.frame
    if draw.random() < _PLAIN:
        frame = frame.replace(" {c}", "").replace("，{c}", "")
    text = _sentence(draw, topic, frame)
    if draw.random() < _DOUBLE:
        text = f"{text} {_sentence(draw, topic, frame)}"
    return text


def _sentence(draw: random.Random, topic: Topic, frame: str) -> str:
    text = frame.format(
        s=draw.choice(topic.subjects),
        f=draw.choice(topic.facts),
        d=draw.choice(topic.details),
        c=draw.choice(topic.circumstances),
    )
    while "{n}" in text:
        text = text.replace("{n}", str(draw.randrange(2, 97)), 1)
    return text


def _again(draw: random.Random, text: str) -> str:
    """The same text, unchanged or in another spelling."""
    match draw.randrange(3):
        case 0:
            return text
        case 1:
            return text.lower().rstrip(".。")
        case _:
            return f"  {text.rstrip('.。')}!"


def _updated(draw: random.Random, text: str) -> str:
    """The same statement with another figure; for a text without one, a new text."""
    figures = list(_FIGURE.finditer(text))
    if not figures:
        return _fresh(draw)
    found = draw.choice(figures)
    return text[: found.start()] + str(int(found.group()) + draw.randrange(1, 60)) + text[found.end() :]
