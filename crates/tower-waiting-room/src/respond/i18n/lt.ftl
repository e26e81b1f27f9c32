### Lietuvių. The arguments are described in `en.ftl`.

title-position = Nr. { $shown } eilėje
title-waiting = Laukiama
title-turn = Atėjo Jūsų eilė

headline-busy = Šiuo metu čia labai daug žmonių
headline-closed = Atsiprašome, vietų nebėra
headline-draining = Eilė uždaryta
headline-full = Eilė pilna
headline-key = Šioje užklausoje kai ko trūksta
headline-network = Eilėje jau laukia daug žmonių iš Jūsų tinklo
headline-rate = Tai buvo šiek tiek per greitai
headline-setup = Ši paslauga nustatyta netinkamai
headline-turn = Atėjo Jūsų eilė
headline-unavailable = Prašome truputį palaukti
headline-waiting = Jūs esate eilėje

detail-busy = Šiuo metu visos vietos užimtos.
detail-closed = Šiuo metu daugiau niekas negali įeiti.
detail-draining = Visi jau esantys eilėje bus aptarnauti, tačiau prisijungti prie jos nebegalima.
detail-full = Laukiančiųjų yra daugiau, nei telpa eilėje.
detail-key = Joje nenurodyta, kas ją išsiuntė.
detail-network = Jūsų tinklas eilėje jau turi tiek vietų, kiek leidžiama vienam tinklui.
detail-rate = Per trumpą laiką iš Jūsų gauta per daug užklausų.
detail-setup = Jūs nepadarėte nieko blogo. Serverio žurnale nurodyta, kaip tai ištaisyti.
detail-unavailable = Pas mus kažkas veikia ne taip, kaip turėtų. Netrukus viskas bus atkurta.

position = Esate { $shown }-as eilėje
position-about = Esate maždaug { $shown }-as eilėje
position-first = Esate kitas eilėje
position-lot = Jūsų eilė nustatoma burtais
position-pending = Nustatome Jūsų vietą
ahead = { $count ->
    [one] Prieš Jus yra maždaug { $shown } žmogus
    [few] Prieš Jus yra maždaug { $shown } žmonės
   *[other] Prieš Jus yra maždaug { $shown } žmonių
}

wait-about = Numatoma laukimo trukmė: maždaug { $span }.
wait-long = Numatoma laukimo trukmė: daugiau nei diena.
wait-paused = Šiuo metu niekas neįleidžiamas. Dar negalime pasakyti, kiek tai truks.
wait-short = Numatoma laukimo trukmė: mažiau nei minutė.
wait-unknown = Dar negalime pasakyti, kiek tai truks.

keep = Šį skirtuką galite uždaryti neprarasdami vietos. Vieta saugoma: { $span }.
again = Bandykite dar kartą vėliau. Liko: { $span }.
unsent = Tai, ką įvedėte, dar neišsiųsta. Duomenys neprarasti: palikite šį puslapį atvertą ir išsiųskite juos dar kartą, kai ateis Jūsų eilė.

updates = Šis puslapis atnaujinamas automatiškai.
updated = Paskutinį kartą atnaujinta:
offline = Ryšys nutrūko. Jūsų vieta išsaugota, o mes bandome toliau.
online = Ryšys atkurtas.
cookies = Šiam puslapiui reikia slapukų, kad išsaugotų Jūsų vietą.
button-again = Bandyti dar kartą
button-send = Siųsti dar kartą

seconds = { $count ->
    [one] { $count } sekundė
    [few] { $count } sekundės
   *[other] { $count } sekundžių
}
minutes = { $count ->
    [one] { $count } minutė
    [few] { $count } minutės
   *[other] { $count } minučių
}
hours = { $count ->
    [one] { $count } valanda
    [few] { $count } valandos
   *[other] { $count } valandų
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minutė
    [few] { $low }–{ $count } minutės
   *[other] { $low }–{ $count } minučių
}
hours-range = { $count ->
    [one] { $low }–{ $count } valanda
    [few] { $low }–{ $count } valandos
   *[other] { $low }–{ $count } valandų
}

stop = { $text }.

ahead-none = Prieš Jus nieko nėra
line-about = { $count ->
    [one] Laukia maždaug { $shown } žmogus
    [few] Laukia maždaug { $shown } žmonės
   *[other] Laukia maždaug { $shown } žmonių
}
slower = Laukimas pailgėjo, nes žmonės įleidžiami lėčiau.
returned = Laukimas pailgėjo, nes prieš Jus dabar yra daugiau žmonių.
retries = Šis puslapis bando dar kartą automatiškai.
support = Pagalba ir kontaktai

event-start = Iki pradžios liko: { $span }.
event-lot = Jūsų vieta bus ištraukta burtais pradžioje
event-number = Jūsų numeris burtuose yra { $shown }.
event-proof = Vėliau burtus galės patikrinti bet kas. Jų įsipareigojimo reikšmė (commitment) yra { $text }.
event-result = Jūsų numeris { $low } iš { $count } burtuose gavo vietą { $shown }.
event-seed = Burtus gali perskaičiuoti bet kas. Jų pradinė reikšmė (seed) yra { $text }.

transfer-here = Tęsti čia su geresne vieta iš abiejų įrenginių
transfer-link = Atidarykite šią nuorodą kitame įrenginyje per kelias minutes. Niekam jos neduokite: ji suteikia prieigą prie jūsų vietos.
transfer-offer = Tęsti kitame įrenginyje
transfer-void = Ši nuoroda nebegalioja. Paprašykite naujos kitame įrenginyje.
