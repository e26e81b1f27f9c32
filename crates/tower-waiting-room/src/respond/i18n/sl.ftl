### Slovenščina. The arguments are described in `en.ftl`.

title-position = Št. { $shown } v vrsti
title-waiting = Čakanje
title-turn = Na vrsti ste

headline-busy = Trenutno je tukaj veliko ljudi
headline-closed = Žal je vse zasedeno
headline-draining = Vrsta je zaprta
headline-full = Vrsta je polna
headline-key = V tej zahtevi nekaj manjka
headline-network = Iz vašega omrežja že čaka veliko ljudi
headline-rate = To je bilo malo prehitro
headline-setup = Ta storitev ni pravilno nastavljena
headline-turn = Na vrsti ste
headline-unavailable = Trenutek, prosimo
headline-waiting = Ste v čakalni vrsti

detail-busy = Trenutno so vsa mesta zasedena.
detail-closed = Trenutno ne more vstopiti nihče več.
detail-draining = Vsi, ki so že v vrsti, bodo prišli na vrsto, pridružiti pa se ji ni več mogoče.
detail-full = Čaka več ljudi, kot jih vrsta lahko sprejme.
detail-key = Iz nje ni razvidno, kdo jo je poslal.
detail-network = Vaše omrežje ima v vrsti že toliko mest, kolikor jih eno omrežje sme imeti.
detail-rate = V kratkem času smo od vas prejeli preveč zahtev.
detail-setup = Niste storili nič narobe. V dnevniku strežnika je navedeno, kako to odpraviti.
detail-unavailable = Pri nas nekaj ne deluje, kot bi moralo. Kmalu bo odpravljeno.

position = Ste številka { $shown } v vrsti
position-about = Ste približno številka { $shown } v vrsti
position-first = Naslednji ste na vrsti
position-lot = Vaš vrstni red določi žreb
position-pending = Iščemo vaše mesto
ahead = { $count ->
    [one] Pred vami je približno { $shown } oseba
    [two] Pred vami sta približno { $shown } osebi
    [few] Pred vami so približno { $shown } osebe
   *[other] Pred vami je približno { $shown } oseb
}

wait-about = Predvideno čakanje: približno { $span }.
wait-long = Predvideno čakanje: več kot en dan.
wait-paused = Trenutno ne spuščamo nikogar. Ne moremo še povedati, kako dolgo bo trajalo.
wait-short = Predvideno čakanje: manj kot minuta.
wait-unknown = Ne moremo še povedati, kako dolgo bo trajalo.

keep = Ta zavihek lahko zaprete, ne da bi izgubili mesto. Mesto hranimo: { $span }.
again = Poskusite znova pozneje. Preostali čas: { $span }.
unsent = Vneseni podatki še niso poslani. Niso izgubljeni: to stran pustite odprto in jih pošljite znova, ko boste na vrsti.

updates = Ta stran se posodablja sama.
updated = Zadnja posodobitev:
offline = Povezava je prekinjena. Vaše mesto je ohranjeno in še naprej poskušamo.
online = Povezava je spet vzpostavljena.
cookies = Ta stran potrebuje piškotke, da ohrani vaše mesto.
button-again = Poskusi znova
button-send = Pošlji znova

seconds = { $count ->
    [one] { $count } sekunda
    [two] { $count } sekundi
    [few] { $count } sekunde
   *[other] { $count } sekund
}
minutes = { $count ->
    [one] { $count } minuta
    [two] { $count } minuti
    [few] { $count } minute
   *[other] { $count } minut
}
hours = { $count ->
    [one] { $count } ura
    [two] { $count } uri
    [few] { $count } ure
   *[other] { $count } ur
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minuta
    [two] { $low }–{ $count } minuti
    [few] { $low }–{ $count } minute
   *[other] { $low }–{ $count } minut
}
hours-range = { $count ->
    [one] { $low }–{ $count } ura
    [two] { $low }–{ $count } uri
    [few] { $low }–{ $count } ure
   *[other] { $low }–{ $count } ur
}

stop = { $text }.

ahead-none = Pred vami ni nikogar
line-about = { $count ->
    [one] Čaka približno { $shown } oseba
    [two] Čakata približno { $shown } osebi
    [few] Čakajo približno { $shown } osebe
   *[other] Čaka približno { $shown } oseb
}
slower = Čakanje se je podaljšalo, ker ljudi spuščamo počasneje.
returned = Čakanje se je podaljšalo, ker je zdaj pred vami več ljudi.
retries = Ta stran znova poskusi sama.
support = Pomoč in stik

event-start = Do začetka: { $span }.
event-lot = Vaše mesto bo na začetku izžrebano
event-number = Vaša številka v žrebanju je { $shown }.
event-proof = Žrebanje lahko pozneje preveri vsakdo. Njegova zaveza (commitment) je { $text }.
event-result = Vaša številka { $low } od { $count } je v žrebanju dobila mesto { $shown }.
event-seed = Žrebanje lahko vsakdo izračuna znova. Njegova začetna vrednost (seed) je { $text }.

transfer-here = Nadaljujte tukaj z boljšim mestom obeh naprav
transfer-link = Odprite to povezavo v drugi napravi v nekaj minutah. Ne delite je: omogoča dostop do vašega mesta.
transfer-offer = Nadaljujte v drugi napravi
transfer-void = Ta povezava ne velja več. Zahtevajte novo v drugi napravi.
