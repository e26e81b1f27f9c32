### Nederlands. The arguments are described in `en.ftl`.

title-position = Nr. { $shown } in de wachtrij
title-waiting = Even wachten
title-turn = U bent aan de beurt

headline-busy = Het is op dit moment erg druk
headline-closed = Sorry, alles is bezet
headline-draining = De wachtrij is gesloten
headline-full = De wachtrij is vol
headline-key = Er ontbreekt iets aan dit verzoek
headline-network = Er staan al veel mensen van uw netwerk in de wachtrij
headline-rate = Dat ging iets te snel
headline-setup = Deze dienst is niet goed ingesteld
headline-turn = U bent aan de beurt
headline-unavailable = Een ogenblik geduld
headline-waiting = U staat in de wachtrij

detail-busy = Alle plaatsen zijn op dit moment bezet.
detail-closed = Er kan op dit moment niemand meer naar binnen.
detail-draining = Iedereen die al in de wachtrij staat, komt nog aan de beurt, maar aansluiten kan niet meer.
detail-full = Er wachten meer mensen dan er in de wachtrij passen.
detail-key = Er staat niet in wie het heeft verstuurd.
detail-network = Uw netwerk heeft al zoveel plaatsen in de wachtrij als één netwerk mag hebben.
detail-rate = Er kwamen in korte tijd te veel verzoeken van u.
detail-setup = U hebt niets verkeerd gedaan. In het logboek van de server staat hoe dit kan worden opgelost.
detail-unavailable = Er werkt bij ons iets niet zoals het hoort. Het is snel weer in orde.

position = U bent nummer { $shown } in de wachtrij
position-about = U bent ongeveer nummer { $shown } in de wachtrij
position-first = U bent als volgende aan de beurt
position-lot = Uw beurt wordt bepaald door loting
position-pending = We zoeken uw plaats op
ahead = { $count ->
    [one] Ongeveer { $shown } persoon is vóór u
   *[other] Ongeveer { $shown } personen zijn vóór u
}

wait-about = Geschatte wachttijd: ongeveer { $span }.
wait-long = Geschatte wachttijd: meer dan een dag.
wait-paused = Er wordt op dit moment niemand toegelaten. We kunnen nog niet zeggen hoelang het duurt.
wait-short = Geschatte wachttijd: minder dan een minuut.
wait-unknown = We kunnen nog niet zeggen hoelang het duurt.

keep = U kunt dit tabblad { $span } sluiten zonder uw plaats te verliezen.
again = Probeer het over { $span } opnieuw.
unsent = Wat u hebt ingevuld, is nog niet verzonden. Het is niet verloren: houd deze pagina open en verzend het opnieuw wanneer u aan de beurt bent.

updates = Deze pagina wordt vanzelf bijgewerkt.
updated = Laatst bijgewerkt om
offline = De verbinding is verbroken. Uw plaats blijft behouden en we blijven het proberen.
online = De verbinding is hersteld.
cookies = Deze pagina heeft cookies nodig om uw plaats te behouden.
button-again = Opnieuw proberen
button-send = Opnieuw verzenden

seconds = { $count ->
    [one] { $count } seconde
   *[other] { $count } seconden
}
minutes = { $count ->
    [one] { $count } minuut
   *[other] { $count } minuten
}
hours = { $count ->
    [one] { $count } uur
   *[other] { $count } uur
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minuut
   *[other] { $low }–{ $count } minuten
}
hours-range = { $count ->
    [one] { $low }–{ $count } uur
   *[other] { $low }–{ $count } uur
}

stop = { $text }.

ahead-none = Er is niemand vóór u
line-about = { $count ->
    [one] Er wacht ongeveer { $shown } persoon
   *[other] Er wachten ongeveer { $shown } personen
}
slower = De wachttijd is langer geworden omdat mensen langzamer worden toegelaten.
returned = De wachttijd is langer geworden omdat er nu meer mensen vóór u staan.
retries = Deze pagina probeert het vanzelf opnieuw.
support = Hulp en contact

event-start = Het begint over { $span }.
event-lot = Uw plaats wordt bij het begin door loting bepaald
event-number = Uw nummer in de loting is { $shown }.
event-proof = Iedereen kan de loting achteraf controleren. De vastgelegde waarde (commitment) is { $text }.
event-result = Uw nummer { $low } van { $count } kreeg plaats { $shown } in de loting.
event-seed = Iedereen kan de loting narekenen. De startwaarde (seed) is { $text }.

transfer-here = Hier verdergaan met de beste plaats van de twee apparaten
transfer-link = Open deze link binnen enkele minuten op het andere apparaat. Deel hem niet: hij geeft toegang tot je plaats.
transfer-offer = Verdergaan op een ander apparaat
transfer-void = Deze link is niet meer geldig. Vraag een nieuwe aan op het andere apparaat.
