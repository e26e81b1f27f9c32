### Suomi. The arguments are described in `en.ftl`.

title-position = Nro { $shown } jonossa
title-waiting = Odotetaan
title-turn = On teidän vuoronne

headline-busy = Täällä on juuri nyt paljon ihmisiä
headline-closed = Valitettavasti kaikki paikat ovat täynnä
headline-draining = Jono on suljettu
headline-full = Jono on täynnä
headline-key = Tästä pyynnöstä puuttuu jotakin
headline-network = Verkostanne on jo monta jonossa
headline-rate = Tuo oli hieman liian nopeaa
headline-setup = Tätä palvelua ei ole määritetty oikein
headline-turn = On teidän vuoronne
headline-unavailable = Hetkinen, olkaa hyvä
headline-waiting = Olette jonossa

detail-busy = Kaikki paikat ovat tällä hetkellä varattuina.
detail-closed = Kukaan muu ei voi päästä sisään tällä hetkellä.
detail-draining = Kaikki jo jonossa olevat palvellaan, mutta jonoon ei enää voi liittyä.
detail-full = Odottajia on enemmän kuin jonoon mahtuu.
detail-key = Siitä ei käy ilmi, kuka sen lähetti.
detail-network = Verkollanne on jonossa jo niin monta paikkaa kuin yhdellä verkolla saa olla.
detail-rate = Teiltä tuli lyhyessä ajassa liian monta pyyntöä.
detail-setup = Ette tehneet mitään väärin. Palvelimen lokissa kerrotaan, miten asia korjataan.
detail-unavailable = Jokin ei toimi meillä niin kuin pitäisi. Palvelu palautuu pian.

position = Olette numero { $shown } jonossa
position-about = Olette suunnilleen numero { $shown } jonossa
position-first = Olette seuraavana vuorossa
position-lot = Vuoronne arvotaan
position-pending = Haemme paikkaanne
ahead = { $count ->
    [one] Edellänne on noin { $shown } henkilö
   *[other] Edellänne on noin { $shown } henkilöä
}

wait-about = Arvioitu odotusaika: noin { $span }.
wait-long = Arvioitu odotusaika: yli vuorokausi.
wait-paused = Ketään ei päästetä sisään tällä hetkellä. Emme osaa vielä sanoa, kauanko se kestää.
wait-short = Arvioitu odotusaika: alle minuutti.
wait-unknown = Emme osaa vielä sanoa, kauanko se kestää.

keep = Voitte sulkea tämän välilehden menettämättä paikkaanne. Paikka säilyy: { $span }.
again = Yrittäkää myöhemmin uudelleen. Aikaa jäljellä: { $span }.
unsent = Antamianne tietoja ei ole vielä lähetetty. Ne eivät ole kadonneet: pitäkää tämä sivu auki ja lähettäkää ne uudelleen, kun on teidän vuoronne.

updates = Tämä sivu päivittyy itsestään.
updated = Viimeksi päivitetty:
offline = Yhteys on katkennut. Paikkanne säilyy, ja jatkamme yrittämistä.
online = Yhteys on palautunut.
cookies = Tämä sivu tarvitsee evästeitä säilyttääkseen paikkanne.
button-again = Yritä uudelleen
button-send = Lähetä uudelleen

seconds = { $count ->
    [one] { $count } sekunti
   *[other] { $count } sekuntia
}
minutes = { $count ->
    [one] { $count } minuutti
   *[other] { $count } minuuttia
}
hours = { $count ->
    [one] { $count } tunti
   *[other] { $count } tuntia
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minuutti
   *[other] { $low }–{ $count } minuuttia
}
hours-range = { $count ->
    [one] { $low }–{ $count } tunti
   *[other] { $low }–{ $count } tuntia
}

stop = { $text }.

ahead-none = Edellänne ei ole ketään
line-about = { $count ->
    [one] Noin { $shown } henkilö odottaa
   *[other] Noin { $shown } henkilöä odottaa
}
slower = Odotusaika on pidentynyt, koska kävijöitä päästetään sisään hitaammin.
returned = Odotusaika on pidentynyt, koska edellänne on nyt enemmän ihmisiä.
retries = Tämä sivu yrittää uudelleen itsestään.
support = Apu ja yhteydenotto

event-start = Alkuun on aikaa: { $span }.
event-lot = Paikkasi arvotaan alkaessa
event-number = Numerosi arvonnassa on { $shown }.
event-proof = Kuka tahansa voi tarkistaa arvonnan jälkikäteen. Sen sitoumus (commitment) on { $text }.
event-result = Numerosi { $low }/{ $count } sai arvonnassa sijan { $shown }.
event-seed = Kuka tahansa voi laskea arvonnan uudelleen. Sen siemenluku (seed) on { $text }.

transfer-here = Jatka tässä laitteiden paremmalla paikalla
transfer-link = Avaa tämä linkki toisella laitteella muutaman minuutin kuluessa. Älä jaa sitä: sillä pääsee paikallesi.
transfer-offer = Jatka toisella laitteella
transfer-void = Tämä linkki ei ole enää voimassa. Pyydä uusi toisella laitteella.
