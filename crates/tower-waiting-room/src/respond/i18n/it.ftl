### Italiano. The arguments are described in `en.ftl`.

title-position = N. { $shown } in coda
title-waiting = In attesa
title-turn = È il Suo turno

headline-busy = In questo momento ci sono molte persone
headline-closed = Siamo spiacenti, i posti sono esauriti
headline-draining = La coda è chiusa
headline-full = La coda è piena
headline-key = In questa richiesta manca qualcosa
headline-network = Molte persone della Sua rete sono già in coda
headline-rate = È stato un po’ troppo veloce
headline-setup = Questo servizio non è configurato correttamente
headline-turn = È il Suo turno
headline-unavailable = Un momento, per favore
headline-waiting = È in coda

detail-busy = Al momento tutti i posti sono occupati.
detail-closed = Al momento non può entrare nessun altro.
detail-draining = Chi è già in coda verrà servito, ma non è più possibile mettersi in coda.
detail-full = Le persone in attesa sono più di quante la coda possa contenerne.
detail-key = Non indica chi l’ha inviata.
detail-network = La Sua rete occupa già in coda tutti i posti consentiti a una rete.
detail-rate = In poco tempo sono arrivate da Lei troppe richieste.
detail-setup = Lei non ha sbagliato nulla. Il registro del server spiega come risolvere.
detail-unavailable = Da parte nostra qualcosa non funziona come dovrebbe. Il servizio tornerà presto.

position = È il numero { $shown } in coda
position-about = È circa il numero { $shown } in coda
position-first = È il prossimo in coda
position-lot = Il Suo turno viene sorteggiato
position-pending = Stiamo cercando il Suo posto
ahead = { $count ->
    [one] Circa { $shown } persona è davanti a Lei
   *[other] Circa { $shown } persone sono davanti a Lei
}

wait-about = Attesa stimata: circa { $span }.
wait-long = Attesa stimata: più di un giorno.
wait-paused = Al momento non entra nessuno. Non possiamo ancora dire quanto tempo ci vorrà.
wait-short = Attesa stimata: meno di un minuto.
wait-unknown = Non possiamo ancora dire quanto tempo ci vorrà.

keep = Può chiudere questa scheda per { $span } senza perdere il posto.
again = Riprovi tra { $span }.
unsent = I dati inseriti non sono ancora stati inviati. Non sono andati persi: lasci aperta questa pagina e li invii di nuovo quando sarà il Suo turno.

updates = Questa pagina si aggiorna da sola.
updated = Ultimo aggiornamento:
offline = La connessione si è interrotta. Il Suo posto è conservato e continuiamo a provare.
online = La connessione è tornata.
cookies = Questa pagina ha bisogno dei cookie per conservare il Suo posto.
button-again = Riprova
button-send = Invia di nuovo

seconds = { $count ->
    [one] { $count } secondo
   *[other] { $count } secondi
}
minutes = { $count ->
    [one] { $count } minuto
   *[other] { $count } minuti
}
hours = { $count ->
    [one] { $count } ora
   *[other] { $count } ore
}
minutes-range = { $count ->
    [one] da { $low } a { $count } minuto
   *[other] da { $low } a { $count } minuti
}
hours-range = { $count ->
    [one] da { $low } a { $count } ora
   *[other] da { $low } a { $count } ore
}

stop = { $text }.

ahead-none = Non c’è nessuno davanti a Lei
line-about = { $count ->
    [one] Circa { $shown } persona è in attesa
   *[other] Circa { $shown } persone sono in attesa
}
slower = L’attesa è aumentata perché gli ingressi sono più lenti.
returned = L’attesa è aumentata perché ora ci sono più persone davanti a Lei.
retries = Questa pagina riprova da sola.
support = Assistenza e contatti

event-start = Inizio tra { $span }.
event-lot = Il suo posto verrà estratto a sorte all’inizio
event-number = Il suo numero nell’estrazione è { $shown }.
event-proof = Chiunque potrà verificare l’estrazione in seguito. Il suo impegno (commitment) è { $text }.
event-result = Il suo numero { $low } di { $count } ha ottenuto il posto { $shown } nell’estrazione.
event-seed = Chiunque può ricalcolare l’estrazione. Il suo seme (seed) è { $text }.

transfer-here = Continua qui con il posto migliore dei due dispositivi
transfer-link = Apri questo link sull’altro dispositivo entro pochi minuti. Non condividerlo: dà accesso al tuo posto.
transfer-offer = Continua su un altro dispositivo
transfer-void = Questo link non è più valido. Chiedine uno nuovo sull’altro dispositivo.
