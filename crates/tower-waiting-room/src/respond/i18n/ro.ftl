### Română. The arguments are described in `en.ftl`.

title-position = Nr. { $shown } la rând
title-waiting = În așteptare
title-turn = Este rândul dumneavoastră

headline-busy = În acest moment sunt mulți vizitatori
headline-closed = Ne pare rău, nu mai sunt locuri
headline-draining = Rândul este închis
headline-full = Rândul este plin
headline-key = Din această cerere lipsește ceva
headline-network = Multe persoane din rețeaua dumneavoastră sunt deja la rând
headline-rate = A fost puțin prea repede
headline-setup = Acest serviciu nu este configurat corect
headline-turn = Este rândul dumneavoastră
headline-unavailable = Un moment, vă rugăm
headline-waiting = Sunteți la rând

detail-busy = Momentan toate locurile sunt ocupate.
detail-closed = Momentan nu mai poate intra nimeni.
detail-draining = Toți cei aflați deja la rând vor fi serviți, dar nimeni nu se mai poate alătura.
detail-full = Așteaptă mai multe persoane decât încap la rând.
detail-key = Nu indică cine a trimis-o.
detail-network = Rețeaua dumneavoastră ocupă deja la rând atâtea locuri câte poate avea o rețea.
detail-rate = Am primit de la dumneavoastră prea multe cereri într-un timp scurt.
detail-setup = Nu ați greșit cu nimic. Jurnalul serverului arată cum se poate remedia.
detail-unavailable = Ceva nu funcționează cum trebuie la noi. Serviciul va reveni în curând.

position = Sunteți numărul { $shown } la rând
position-about = Sunteți aproximativ numărul { $shown } la rând
position-first = Sunteți următorul la rând
position-lot = Rândul dumneavoastră se stabilește prin tragere la sorți
position-pending = Vă căutăm locul
ahead = { $count ->
    [one] Aproximativ { $shown } persoană este înaintea dumneavoastră
    [few] Aproximativ { $shown } persoane sunt înaintea dumneavoastră
   *[other] Aproximativ { $shown } de persoane sunt înaintea dumneavoastră
}

wait-about = Timp de așteptare estimat: aproximativ { $span }.
wait-long = Timp de așteptare estimat: peste o zi.
wait-paused = Momentan nu este lăsat nimeni să intre. Încă nu putem spune cât va dura.
wait-short = Timp de așteptare estimat: mai puțin de un minut.
wait-unknown = Încă nu putem spune cât va dura.

keep = Puteți închide această filă timp de { $span } fără a vă pierde locul.
again = Vă rugăm să încercați din nou peste { $span }.
unsent = Ce ați introdus nu a fost trimis încă. Nu s-a pierdut: lăsați această pagină deschisă și trimiteți din nou când vă vine rândul.

updates = Această pagină se actualizează singură.
updated = Ultima actualizare:
offline = Conexiunea s-a întrerupt. Locul dumneavoastră este păstrat, iar noi încercăm în continuare.
online = Conexiunea a revenit.
cookies = Această pagină are nevoie de module cookie pentru a vă păstra locul.
button-again = Încercați din nou
button-send = Trimiteți din nou

seconds = { $count ->
    [one] { $count } secundă
    [few] { $count } secunde
   *[other] { $count } de secunde
}
minutes = { $count ->
    [one] { $count } minut
    [few] { $count } minute
   *[other] { $count } de minute
}
hours = { $count ->
    [one] { $count } oră
    [few] { $count } ore
   *[other] { $count } de ore
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minut
    [few] { $low }–{ $count } minute
   *[other] { $low }–{ $count } de minute
}
hours-range = { $count ->
    [one] { $low }–{ $count } oră
    [few] { $low }–{ $count } ore
   *[other] { $low }–{ $count } de ore
}

stop = { $text }.

ahead-none = Nimeni nu este înaintea dumneavoastră
line-about = { $count ->
    [one] Așteaptă aproximativ { $shown } persoană
    [few] Așteaptă aproximativ { $shown } persoane
   *[other] Așteaptă aproximativ { $shown } de persoane
}
slower = Așteptarea s-a prelungit deoarece accesul este mai lent.
returned = Așteptarea s-a prelungit deoarece acum sunt mai multe persoane înaintea dumneavoastră.
retries = Această pagină încearcă din nou singură.
support = Ajutor și contact

event-start = Timp rămas până la început: { $span }.
event-lot = Locul dumneavoastră va fi tras la sorți la început
event-number = Numărul dumneavoastră la tragerea la sorți este { $shown }.
event-proof = Oricine poate verifica ulterior tragerea la sorți. Angajamentul ei (commitment) este { $text }.
event-result = Numărul dumneavoastră, { $low } din { $count }, a obținut locul { $shown } la tragerea la sorți.
event-seed = Oricine poate recalcula tragerea la sorți. Valoarea ei inițială (seed) este { $text }.

transfer-here = Continuați aici cu locul mai bun de pe cele două dispozitive
transfer-link = Deschideți acest link pe celălalt dispozitiv în câteva minute. Nu îl distribuiți: oferă acces la locul dvs.
transfer-offer = Continuați pe alt dispozitiv
transfer-void = Acest link nu mai este valabil. Cereți unul nou pe celălalt dispozitiv.
