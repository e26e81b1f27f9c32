### Slovenčina. The arguments are described in `en.ftl`.

title-position = Č. { $shown } v rade
title-waiting = Čakanie
title-turn = Ste na rade

headline-busy = Práve je tu veľa ľudí
headline-closed = Ľutujeme, je obsadené
headline-draining = Rad je uzavretý
headline-full = Rad je plný
headline-key = V tejto požiadavke niečo chýba
headline-network = Z vašej siete už čaká veľa ľudí
headline-rate = To bolo trochu prirýchlo
headline-setup = Táto služba nie je správne nastavená
headline-turn = Ste na rade
headline-unavailable = Okamih, prosím
headline-waiting = Ste v rade

detail-busy = Všetky miesta sú práve obsadené.
detail-closed = Momentálne nemôže vstúpiť nikto ďalší.
detail-draining = Všetci, ktorí už v rade sú, sa dostanú na rad, ale nikto ďalší sa už nemôže pridať.
detail-full = Čaká viac ľudí, než sa do radu zmestí.
detail-key = Nie je z nej zrejmé, kto ju odoslal.
detail-network = Vaša sieť má v rade toľko miest, koľko jedna sieť smie mať.
detail-rate = V krátkom čase od vás prišlo priveľa požiadaviek.
detail-setup = Neurobili ste nič zlé. V protokole servera je uvedené, ako to opraviť.
detail-unavailable = Na našej strane niečo nefunguje, ako má. Čoskoro to bude v poriadku.

position = Ste číslo { $shown } v rade
position-about = Ste približne číslo { $shown } v rade
position-first = Ste ďalší na rade
position-lot = Vaše poradie určí žreb
position-pending = Zisťujeme vaše miesto
ahead = { $count ->
    [one] Pred vami je približne { $shown } človek
    [few] Pred vami sú približne { $shown } ľudia
   *[other] Pred vami je približne { $shown } ľudí
}

wait-about = Odhadovaný čas čakania: približne { $span }.
wait-long = Odhadovaný čas čakania: viac ako jeden deň.
wait-paused = Práve nie je vpúšťaný nikto. Zatiaľ nevieme povedať, ako dlho to potrvá.
wait-short = Odhadovaný čas čakania: menej ako minúta.
wait-unknown = Zatiaľ nevieme povedať, ako dlho to potrvá.

keep = Túto kartu môžete zatvoriť bez straty miesta. Miesto držíme: { $span }.
again = Skúste to znova neskôr. Zostávajúci čas: { $span }.
unsent = Zadané údaje ešte neboli odoslané. Nie sú stratené: nechajte túto stránku otvorenú a odošlite ich znova, keď budete na rade.

updates = Táto stránka sa aktualizuje sama.
updated = Posledná aktualizácia:
offline = Spojenie je prerušené. Vaše miesto je zachované a stále sa pokúšame pripojiť.
online = Spojenie je obnovené.
cookies = Táto stránka potrebuje súbory cookie, aby vám podržala miesto.
button-again = Skúsiť znova
button-send = Odoslať znova

seconds = { $count ->
    [one] { $count } sekunda
    [few] { $count } sekundy
   *[other] { $count } sekúnd
}
minutes = { $count ->
    [one] { $count } minúta
    [few] { $count } minúty
   *[other] { $count } minút
}
hours = { $count ->
    [one] { $count } hodina
    [few] { $count } hodiny
   *[other] { $count } hodín
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minúta
    [few] { $low }–{ $count } minúty
   *[other] { $low }–{ $count } minút
}
hours-range = { $count ->
    [one] { $low }–{ $count } hodina
    [few] { $low }–{ $count } hodiny
   *[other] { $low }–{ $count } hodín
}

stop = { $text }.

ahead-none = Nikto nie je pred vami
line-about = { $count ->
    [one] Čaká približne { $shown } človek
    [few] Čakajú približne { $shown } ľudia
   *[other] Čaká približne { $shown } ľudí
}
slower = Čakanie sa predĺžilo, pretože ľudia sú vpúšťaní pomalšie.
returned = Čakanie sa predĺžilo, pretože je pred vami teraz viac ľudí.
retries = Táto stránka to skúsi znova sama.
support = Pomoc a kontakt

event-start = Do začiatku zostáva: { $span }.
event-lot = Vaše miesto sa na začiatku vyžrebuje
event-number = Vaše číslo v žrebovaní je { $shown }.
event-proof = Žrebovanie si potom môže overiť ktokoľvek. Jeho záväzok (commitment) je { $text }.
event-result = Vaše číslo { $low } z { $count } získalo v žrebovaní miesto { $shown }.
event-seed = Žrebovanie si môže prepočítať ktokoľvek. Jeho počiatočná hodnota (seed) je { $text }.

transfer-here = Pokračovať tu s lepším miestom z oboch zariadení
transfer-link = Otvorte tento odkaz na druhom zariadení do niekoľkých minút. Nezdieľajte ho: dáva prístup k vášmu miestu.
transfer-offer = Pokračovať na inom zariadení
transfer-void = Tento odkaz už neplatí. Vyžiadajte si nový na druhom zariadení.
