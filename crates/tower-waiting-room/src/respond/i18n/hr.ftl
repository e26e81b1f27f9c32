### Hrvatski. The arguments are described in `en.ftl`.

title-position = Br. { $shown } u redu
title-waiting = Čekanje
title-turn = Vi ste na redu

headline-busy = Trenutačno je ovdje mnogo ljudi
headline-closed = Nažalost, popunjeni smo
headline-draining = Red čekanja je zatvoren
headline-full = Red čekanja je pun
headline-key = U ovom zahtjevu nešto nedostaje
headline-network = Mnogi iz vaše mreže već čekaju u redu
headline-rate = To je bilo malo prebrzo
headline-setup = Ova usluga nije ispravno postavljena
headline-turn = Vi ste na redu
headline-unavailable = Trenutak, molimo
headline-waiting = Nalazite se u redu čekanja

detail-busy = Sva su mjesta trenutačno zauzeta.
detail-closed = Trenutačno nitko više ne može ući.
detail-draining = Svi koji su već u redu bit će posluženi, ali mu se više nije moguće pridružiti.
detail-full = Čeka više ljudi nego što red može primiti.
detail-key = Iz zahtjeva se ne vidi tko ga je poslao.
detail-network = Vaša mreža u redu već ima onoliko mjesta koliko jedna mreža smije imati.
detail-rate = Od vas je u kratkom vremenu stiglo previše zahtjeva.
detail-setup = Niste ništa pogriješili. U zapisniku poslužitelja piše kako to popraviti.
detail-unavailable = Kod nas nešto ne radi kako treba. Uskoro ćemo to popraviti.

position = Vi ste broj { $shown } u redu
position-about = Vi ste otprilike broj { $shown } u redu
position-first = Sljedeći ste na redu
position-lot = Vaš se red određuje ždrijebom
position-pending = Pronalazimo vaše mjesto
ahead = { $count ->
    [one] Otprilike { $shown } osoba je ispred vas
    [few] Otprilike { $shown } osobe su ispred vas
   *[other] Otprilike { $shown } osoba je ispred vas
}

wait-about = Procijenjeno čekanje: otprilike { $span }.
wait-long = Procijenjeno čekanje: više od jednog dana.
wait-paused = Trenutačno se nikoga ne propušta. Još ne možemo reći koliko će to trajati.
wait-short = Procijenjeno čekanje: manje od jedne minute.
wait-unknown = Još ne možemo reći koliko će to trajati.

keep = Ako zatvorite ovu karticu, mjesto vam ostaje sačuvano. Trajanje: { $span }.
again = Pokušajte ponovno kasnije. Preostalo vrijeme: { $span }.
unsent = Podaci koje ste unijeli još nisu poslani. Nisu izgubljeni: ostavite ovu stranicu otvorenom i ponovno ih pošaljite kada dođete na red.

updates = Ova se stranica sama ažurira.
updated = Zadnje ažuriranje:
offline = Veza je prekinuta. Vaše je mjesto sačuvano i nastavljamo pokušavati.
online = Veza je ponovno uspostavljena.
cookies = Ova stranica treba kolačiće kako bi sačuvala vaše mjesto.
button-again = Pokušaj ponovno
button-send = Pošalji ponovno

seconds = { $count ->
    [one] { $count } sekunda
    [few] { $count } sekunde
   *[other] { $count } sekundi
}
minutes = { $count ->
    [one] { $count } minuta
    [few] { $count } minute
   *[other] { $count } minuta
}
hours = { $count ->
    [one] { $count } sat
    [few] { $count } sata
   *[other] { $count } sati
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minuta
    [few] { $low }–{ $count } minute
   *[other] { $low }–{ $count } minuta
}
hours-range = { $count ->
    [one] { $low }–{ $count } sat
    [few] { $low }–{ $count } sata
   *[other] { $low }–{ $count } sati
}

stop = { $text }.

ahead-none = Nitko nije ispred vas
line-about = { $count ->
    [one] Čeka otprilike { $shown } osoba
    [few] Čekaju otprilike { $shown } osobe
   *[other] Čeka otprilike { $shown } osoba
}
slower = Čekanje se produljilo jer se ljudi propuštaju sporije.
returned = Čekanje se produljilo jer je sada više ljudi ispred vas.
retries = Ova stranica sama pokušava ponovno.
support = Pomoć i kontakt

event-start = Do početka preostaje: { $span }.
event-lot = Vaše mjesto izvlači se ždrijebom na početku
event-number = Vaš broj u ždrijebu je { $shown }.
event-proof = Ždrijeb nakon toga može provjeriti svatko. Njegova obvezujuća vrijednost (commitment) je { $text }.
event-result = Vaš broj { $low } od { $count } dobio je u ždrijebu mjesto { $shown }.
event-seed = Ždrijeb može ponovno izračunati svatko. Njegova početna vrijednost (seed) je { $text }.

transfer-here = Nastavite ovdje s boljim mjestom od dvaju uređaja
transfer-link = Otvorite ovu poveznicu na drugom uređaju u roku od nekoliko minuta. Nemojte je dijeliti: daje pristup vašem mjestu.
transfer-offer = Nastavite na drugom uređaju
transfer-void = Ova poveznica više ne vrijedi. Zatražite novu na drugom uređaju.
