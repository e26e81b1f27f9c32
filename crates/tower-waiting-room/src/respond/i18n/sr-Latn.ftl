### Srpski. The arguments are described in `en.ftl`.

title-position = Br. { $shown } u redu
title-waiting = Čekanje
title-turn = Vi ste na redu

headline-busy = Trenutno je ovde mnogo ljudi
headline-closed = Nažalost, nema slobodnih mesta
headline-draining = Red je zatvoren
headline-full = Red je pun
headline-key = U ovom zahtevu nešto nedostaje
headline-network = Mnogi iz vaše mreže već čekaju u redu
headline-rate = To je bilo malo prebrzo
headline-setup = Ovaj servis nije ispravno podešen
headline-turn = Vi ste na redu
headline-unavailable = Samo trenutak, molimo
headline-waiting = Nalazite se u redu za čekanje

detail-busy = Sva mesta su trenutno zauzeta.
detail-closed = Trenutno niko više ne može da uđe.
detail-draining = Svi koji su već u redu biće usluženi, ali više nije moguće pridružiti mu se.
detail-full = Čeka više ljudi nego što red može da primi.
detail-key = Iz zahteva se ne vidi ko ga je poslao.
detail-network = Vaša mreža već ima onoliko mesta u redu koliko jedna mreža sme da ima.
detail-rate = Od vas je za kratko vreme stiglo previše zahteva.
detail-setup = Niste pogrešili. U dnevniku servera piše kako se to rešava.
detail-unavailable = Kod nas nešto ne radi kako treba. Uskoro će biti ispravljeno.

position = Vi ste broj { $shown } u redu
position-about = Vi ste otprilike broj { $shown } u redu
position-first = Sledeći ste na redu
position-lot = Vaš red se određuje žrebom
position-pending = Pronalazimo vaše mesto
ahead = { $count ->
    [one] Otprilike { $shown } osoba je ispred vas
    [few] Otprilike { $shown } osobe su ispred vas
   *[other] Otprilike { $shown } osoba je ispred vas
}

wait-about = Procenjeno čekanje: otprilike { $span }.
wait-long = Procenjeno čekanje: više od jednog dana.
wait-paused = Trenutno se niko ne propušta. Još ne možemo da kažemo koliko će to trajati.
wait-short = Procenjeno čekanje: manje od jednog minuta.
wait-unknown = Još ne možemo da kažemo koliko će to trajati.

keep = Ovu karticu možete da zatvorite, a da ne izgubite mesto. Mesto se čuva: { $span }.
again = Pokušajte ponovo kasnije. Preostalo vreme: { $span }.
unsent = Podaci koje ste uneli još nisu poslati. Nisu izgubljeni: ostavite ovu stranicu otvorenu i pošaljite ih ponovo kada budete na redu.

updates = Ova stranica se sama ažurira.
updated = Poslednje ažuriranje:
offline = Veza je prekinuta. Vaše mesto je sačuvano i nastavljamo da pokušavamo.
online = Veza je ponovo uspostavljena.
cookies = Ovoj stranici su potrebni kolačići da bi sačuvala vaše mesto.
button-again = Pokušaj ponovo
button-send = Pošalji ponovo

seconds = { $count ->
    [one] { $count } sekunda
    [few] { $count } sekunde
   *[other] { $count } sekundi
}
minutes = { $count ->
    [one] { $count } minut
    [few] { $count } minuta
   *[other] { $count } minuta
}
hours = { $count ->
    [one] { $count } sat
    [few] { $count } sata
   *[other] { $count } sati
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minut
    [few] { $low }–{ $count } minuta
   *[other] { $low }–{ $count } minuta
}
hours-range = { $count ->
    [one] { $low }–{ $count } sat
    [few] { $low }–{ $count } sata
   *[other] { $low }–{ $count } sati
}

stop = { $text }.

ahead-none = Niko nije ispred vas
line-about = { $count ->
    [one] Čeka otprilike { $shown } osoba
    [few] Čekaju otprilike { $shown } osobe
   *[other] Čeka otprilike { $shown } osoba
}
slower = Čekanje se produžilo jer se ljudi sporije propuštaju.
returned = Čekanje se produžilo jer je sada ispred vas više ljudi.
retries = Ova stranica sama pokušava ponovo.
support = Pomoć i kontakt

event-start = Do početka preostaje: { $span }.
event-lot = Vaše mesto se izvlači žrebom na početku
event-number = Vaš broj u žrebu je { $shown }.
event-proof = Žreb posle toga može da proveri svako. Njegova obavezujuća vrednost (commitment) je { $text }.
event-result = Vaš broj { $low } od { $count } dobio je u žrebu mesto { $shown }.
event-seed = Žreb svako može ponovo da izračuna. Njegova početna vrednost (seed) je { $text }.

transfer-here = Nastavite ovde sa boljim mestom od dva uređaja
transfer-link = Otvorite ovu vezu na drugom uređaju u roku od nekoliko minuta. Nemojte je deliti: ona daje pristup vašem mestu.
transfer-offer = Nastavite na drugom uređaju
transfer-void = Ova veza više ne važi. Zatražite novu na drugom uređaju.
