### Norsk bokmål. The arguments are described in `en.ftl`.

title-position = Nr. { $shown } i køen
title-waiting = Venter
title-turn = Det er din tur

headline-busy = Det er mange her akkurat nå
headline-closed = Beklager, det er fullt
headline-draining = Køen er stengt
headline-full = Køen er full
headline-key = Det mangler noe i denne forespørselen
headline-network = Mange på nettverket ditt står allerede i kø
headline-rate = Det gikk litt for fort
headline-setup = Denne tjenesten er ikke satt opp riktig
headline-turn = Det er din tur
headline-unavailable = Et øyeblikk
headline-waiting = Du står i kø

detail-busy = Alle plasser er opptatt akkurat nå.
detail-closed = Ingen andre kan komme inn akkurat nå.
detail-draining = Alle som allerede står i køen, blir betjent, men det er ikke lenger mulig å stille seg i den.
detail-full = Det venter flere enn det er plass til i køen.
detail-key = Det fremgår ikke hvem som har sendt den.
detail-network = Nettverket ditt har allerede så mange plasser i køen som ett nettverk kan ha.
detail-rate = Det kom for mange forespørsler fra deg på kort tid.
detail-setup = Du har ikke gjort noe galt. I tjenerens logg står det hvordan dette kan rettes.
detail-unavailable = Noe hos oss fungerer ikke som det skal. Det er snart i orden igjen.

position = Du er nummer { $shown } i køen
position-about = Du er omtrent nummer { $shown } i køen
position-first = Du er neste i køen
position-lot = Turen din avgjøres ved loddtrekning
position-pending = Vi finner plassen din
ahead = { $count ->
    [one] Omtrent { $shown } person er foran deg
   *[other] Omtrent { $shown } personer er foran deg
}

wait-about = Forventet ventetid: omtrent { $span }.
wait-long = Forventet ventetid: mer enn ett døgn.
wait-paused = Ingen slippes inn akkurat nå. Vi kan ennå ikke si hvor lang tid det tar.
wait-short = Forventet ventetid: under ett minutt.
wait-unknown = Vi kan ennå ikke si hvor lang tid det tar.

keep = Du kan lukke denne fanen i { $span } uten å miste plassen din.
again = Prøv igjen om { $span }.
unsent = Det du har skrevet inn, er ikke sendt ennå. Det er ikke gått tapt: hold denne siden åpen, og send det på nytt når det er din tur.

updates = Denne siden oppdateres automatisk.
updated = Sist oppdatert kl.
offline = Forbindelsen er brutt. Plassen din er beholdt, og vi fortsetter å prøve.
online = Forbindelsen er gjenopprettet.
cookies = Denne siden trenger informasjonskapsler for å beholde plassen din.
button-again = Prøv igjen
button-send = Send på nytt

seconds = { $count ->
    [one] { $count } sekund
   *[other] { $count } sekunder
}
minutes = { $count ->
    [one] { $count } minutt
   *[other] { $count } minutter
}
hours = { $count ->
    [one] { $count } time
   *[other] { $count } timer
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minutt
   *[other] { $low }–{ $count } minutter
}
hours-range = { $count ->
    [one] { $low }–{ $count } time
   *[other] { $low }–{ $count } timer
}

stop = { $text }.

ahead-none = Ingen er foran deg
line-about = { $count ->
    [one] Omtrent { $shown } person venter
   *[other] Omtrent { $shown } personer venter
}
slower = Ventetiden er blitt lengre fordi folk slippes langsommere inn.
returned = Ventetiden er blitt lengre fordi det nå er flere personer foran deg.
retries = Denne siden prøver igjen automatisk.
support = Hjelp og kontakt

event-start = Det begynner om { $span }.
event-lot = Plassen din trekkes ved loddtrekning ved starten
event-number = Nummeret ditt i loddtrekningen er { $shown }.
event-proof = Alle kan kontrollere loddtrekningen etterpå. Den bindende verdien (commitment) er { $text }.
event-result = Nummeret ditt, { $low } av { $count }, fikk plass { $shown } i loddtrekningen.
event-seed = Alle kan regne ut loddtrekningen på nytt. Startverdien (seed) er { $text }.

transfer-here = Fortsett her med den beste plassen fra de to enhetene
transfer-link = Åpne denne lenken på den andre enheten i løpet av noen minutter. Ikke del den: den gir tilgang til plassen din.
transfer-offer = Fortsett på en annen enhet
transfer-void = Denne lenken er ikke lenger gyldig. Be om en ny på den andre enheten.
