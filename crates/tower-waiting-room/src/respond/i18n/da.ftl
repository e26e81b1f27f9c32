### Dansk. The arguments are described in `en.ftl`.

title-position = Nr. { $shown } i køen
title-waiting = Venter
title-turn = Det er din tur

headline-busy = Der er mange mennesker her lige nu
headline-closed = Beklager, alt er optaget
headline-draining = Køen er lukket
headline-full = Køen er fuld
headline-key = Der mangler noget i denne anmodning
headline-network = Mange på dit netværk står allerede i kø
headline-rate = Det gik lidt for hurtigt
headline-setup = Denne tjeneste er ikke sat korrekt op
headline-turn = Det er din tur
headline-unavailable = Et øjeblik
headline-waiting = Du står i kø

detail-busy = Alle pladser er optaget i øjeblikket.
detail-closed = Ingen andre kan komme ind i øjeblikket.
detail-draining = Alle, der allerede står i køen, bliver betjent, men det er ikke længere muligt at stille sig i den.
detail-full = Der venter flere, end køen kan rumme.
detail-key = Det fremgår ikke, hvem der har sendt den.
detail-network = Dit netværk har allerede så mange pladser i køen, som ét netværk må have.
detail-rate = Der kom for mange anmodninger fra dig på kort tid.
detail-setup = Du har ikke gjort noget forkert. Serverens log beskriver, hvordan det løses.
detail-unavailable = Noget hos os fungerer ikke, som det skal. Det er snart i orden igen.

position = Du er nummer { $shown } i køen
position-about = Du er omkring nummer { $shown } i køen
position-first = Du er den næste i køen
position-lot = Din tur afgøres ved lodtrækning
position-pending = Vi finder din plads
ahead = { $count ->
    [one] Omkring { $shown } person er foran dig
   *[other] Omkring { $shown } personer er foran dig
}

wait-about = Forventet ventetid: omkring { $span }.
wait-long = Forventet ventetid: mere end et døgn.
wait-paused = Ingen lukkes ind i øjeblikket. Vi kan endnu ikke sige, hvor lang tid det tager.
wait-short = Forventet ventetid: under et minut.
wait-unknown = Vi kan endnu ikke sige, hvor lang tid det tager.

keep = Du kan lukke denne fane i { $span } uden at miste din plads.
again = Prøv igen om { $span }.
unsent = Det, du har indtastet, er ikke sendt endnu. Det er ikke gået tabt: hold denne side åben, og send det igen, når det er din tur.

updates = Denne side opdateres automatisk.
updated = Senest opdateret kl.
offline = Forbindelsen er afbrudt. Din plads er bevaret, og vi bliver ved med at prøve.
online = Forbindelsen er genoprettet.
cookies = Denne side har brug for cookies for at bevare din plads.
button-again = Prøv igen
button-send = Send igen

seconds = { $count ->
    [one] { $count } sekund
   *[other] { $count } sekunder
}
minutes = { $count ->
    [one] { $count } minut
   *[other] { $count } minutter
}
hours = { $count ->
    [one] { $count } time
   *[other] { $count } timer
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minut
   *[other] { $low }–{ $count } minutter
}
hours-range = { $count ->
    [one] { $low }–{ $count } time
   *[other] { $low }–{ $count } timer
}

stop = { $text }.

ahead-none = Ingen er foran dig
line-about = { $count ->
    [one] Omkring { $shown } person venter
   *[other] Omkring { $shown } personer venter
}
slower = Ventetiden er blevet længere, fordi folk lukkes langsommere ind.
returned = Ventetiden er blevet længere, fordi der nu er flere personer foran dig.
retries = Denne side prøver igen automatisk.
support = Hjælp og kontakt

event-start = Det begynder om { $span }.
event-lot = Din plads bliver trukket ved lodtrækning ved starten
event-number = Dit nummer i lodtrækningen er { $shown }.
event-proof = Alle kan kontrollere lodtrækningen bagefter. Dens bindende værdi (commitment) er { $text }.
event-result = Dit nummer { $low } af { $count } fik plads { $shown } i lodtrækningen.
event-seed = Alle kan genberegne lodtrækningen. Dens startværdi (seed) er { $text }.

transfer-here = Fortsæt her med den bedste plads fra de to enheder
transfer-link = Åbn dette link på den anden enhed inden for nogle få minutter. Del det ikke: det giver adgang til din plads.
transfer-offer = Fortsæt på en anden enhed
transfer-void = Linket er ikke længere gyldigt. Bed om et nyt på den anden enhed.
