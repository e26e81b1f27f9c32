### Deutsch. `$shown` ist eine Anzahl, wie man sie schreibt, `$span` eine Zeit wie „5 Minuten“.

title-position = Nr. { $shown } in der Schlange
title-waiting = Bitte warten
title-turn = Sie sind an der Reihe

headline-busy = Gerade sind sehr viele Menschen hier
headline-closed = Leider ist alles voll
headline-draining = Die Warteschlange ist geschlossen
headline-full = Die Warteschlange ist voll
headline-key = In dieser Anfrage fehlt etwas
headline-network = Aus Ihrem Netz warten schon viele
headline-rate = Das war etwas zu schnell
headline-setup = Dieser Dienst ist nicht richtig eingerichtet
headline-turn = Sie sind an der Reihe
headline-unavailable = Einen Augenblick, bitte
headline-waiting = Sie sind in der Warteschlange

detail-busy = Für einen Moment sind alle Plätze belegt.
detail-closed = Im Moment kann niemand mehr herein.
detail-draining = Wer schon in der Schlange steht, kommt noch an die Reihe, aber niemand kann sich mehr anstellen.
detail-full = Es warten mehr Menschen, als in die Schlange passen.
detail-key = Es lässt sich nicht erkennen, von wem sie kommt.
detail-network = Ihr Netz hat in der Warteschlange so viele Plätze, wie ein Netz haben darf.
detail-rate = Von Ihnen kamen in kurzer Zeit zu viele Anfragen.
detail-setup = Sie haben nichts falsch gemacht. Im Protokoll des Servers steht, wie es sich beheben lässt.
detail-unavailable = Bei uns funktioniert gerade etwas nicht, wie es soll. Es geht bald weiter.

position = Sie sind Nummer { $shown } in der Schlange
position-about = Sie sind etwa Nummer { $shown } in der Schlange
position-first = Sie sind als Nächstes an der Reihe
position-lot = Das Los entscheidet, wann Sie an der Reihe sind
position-pending = Wir holen Ihren Platz
ahead = { $count ->
    [one] Etwa { $shown } Person ist vor Ihnen
   *[other] Etwa { $shown } Personen sind vor Ihnen
}

wait-about = Voraussichtliche Wartezeit: etwa { $span }.
wait-long = Voraussichtliche Wartezeit: mehr als ein Tag.
wait-paused = Im Moment wird niemand eingelassen. Wir können noch nicht sagen, wie lange es dauert.
wait-short = Voraussichtliche Wartezeit: weniger als eine Minute.
wait-unknown = Wir können noch nicht sagen, wie lange es dauert.

keep = Sie können diesen Tab { $span } lang schließen, ohne Ihren Platz zu verlieren.
again = Bitte versuchen Sie es in { $span } noch einmal.
unsent = Ihre Eingaben wurden noch nicht gesendet. Sie sind nicht verloren: Lassen Sie diese Seite offen und senden Sie noch einmal, wenn Sie an der Reihe sind.

updates = Diese Seite aktualisiert sich von selbst.
updated = Zuletzt aktualisiert um
offline = Die Verbindung ist unterbrochen. Ihr Platz bleibt Ihnen, und wir versuchen es weiter.
online = Die Verbindung ist wieder da.
cookies = Diese Seite braucht Cookies, um Ihren Platz zu behalten.
button-again = Noch einmal versuchen
button-send = Noch einmal senden

seconds = { $count ->
    [one] { $count } Sekunde
   *[other] { $count } Sekunden
}
minutes = { $count ->
    [one] { $count } Minute
   *[other] { $count } Minuten
}
hours = { $count ->
    [one] { $count } Stunde
   *[other] { $count } Stunden
}
minutes-range = { $low } bis { $count } Minuten
hours-range = { $low } bis { $count } Stunden

stop = { $text }.

ahead-none = Niemand ist vor Ihnen
line-about = { $count ->
    [one] Etwa { $shown } Person wartet
   *[other] Etwa { $shown } Personen warten
}
slower = Die Wartezeit ist länger geworden, weil die Besucher langsamer eingelassen werden.
returned = Die Wartezeit ist länger geworden, weil jetzt mehr Personen vor Ihnen sind.
retries = Diese Seite versucht es von selbst noch einmal.
support = Hilfe und Kontakt

event-start = Es beginnt in { $span }.
event-lot = Ihr Platz wird zu Beginn ausgelost
event-number = Ihre Nummer in der Auslosung ist { $shown }.
event-proof = Jeder kann die Auslosung danach prüfen. Ihre Festlegung (Commitment) ist { $text }.
event-result = Ihre Nummer { $low } von { $count } hat in der Auslosung Platz { $shown } bekommen.
event-seed = Jeder kann die Auslosung nachrechnen. Ihr Startwert (Seed) ist { $text }.

transfer-here = Hier mit dem besseren Platz beider Geräte fortfahren
transfer-link = Öffnen Sie diesen Link innerhalb weniger Minuten auf dem anderen Gerät. Geben Sie ihn nicht weiter: Er gibt Zugang zu Ihrem Platz.
transfer-offer = Auf einem anderen Gerät fortfahren
transfer-void = Dieser Link gilt nicht mehr. Fordern Sie auf dem anderen Gerät einen neuen an.
