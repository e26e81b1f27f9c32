### Polski. The arguments are described in `en.ftl`.

title-position = Nr { $shown } w kolejce
title-waiting = Oczekiwanie
title-turn = Teraz Państwa kolej

headline-busy = W tej chwili jest tu bardzo wiele osób
headline-closed = Przepraszamy, brak wolnych miejsc
headline-draining = Kolejka jest zamknięta
headline-full = Kolejka jest pełna
headline-key = W tym żądaniu czegoś brakuje
headline-network = Wiele osób z Państwa sieci jest już w kolejce
headline-rate = To było trochę za szybko
headline-setup = Ta usługa nie jest poprawnie skonfigurowana
headline-turn = Teraz Państwa kolej
headline-unavailable = Prosimy o chwilę cierpliwości
headline-waiting = Są Państwo w kolejce

detail-busy = W tej chwili wszystkie miejsca są zajęte.
detail-closed = W tej chwili nikt więcej nie może wejść.
detail-draining = Wszyscy, którzy już są w kolejce, zostaną obsłużeni, ale nie można już do niej dołączyć.
detail-full = Oczekujących jest więcej, niż mieści kolejka.
detail-key = Nie wiadomo, kto je wysłał.
detail-network = Państwa sieć zajmuje już w kolejce tyle miejsc, ile może zająć jedna sieć.
detail-rate = W krótkim czasie otrzymaliśmy od Państwa zbyt wiele żądań.
detail-setup = To nie Państwa wina. W dzienniku serwera opisano, jak to naprawić.
detail-unavailable = Coś po naszej stronie nie działa tak, jak powinno. Wkrótce to naprawimy.

position = Mają Państwo numer { $shown } w kolejce
position-about = Mają Państwo mniej więcej numer { $shown } w kolejce
position-first = Są Państwo następni w kolejce
position-lot = O kolejności decyduje losowanie
position-pending = Ustalamy Państwa miejsce
ahead = { $count ->
    [one] Przed Państwem jest około { $shown } osoba
    [few] Przed Państwem są około { $shown } osoby
    [many] Przed Państwem jest około { $shown } osób
   *[other] Przed Państwem jest około { $shown } osoby
}

wait-about = Szacowany czas oczekiwania: mniej więcej { $span }.
wait-long = Szacowany czas oczekiwania: ponad jeden dzień.
wait-paused = W tej chwili nikt nie jest wpuszczany. Nie możemy jeszcze powiedzieć, jak długo to potrwa.
wait-short = Szacowany czas oczekiwania: mniej niż minuta.
wait-unknown = Nie możemy jeszcze powiedzieć, jak długo to potrwa.

keep = Tę kartę można zamknąć bez utraty miejsca. Czas zachowania miejsca: { $span }.
again = Prosimy spróbować ponownie później. Pozostały czas: { $span }.
unsent = Wprowadzone dane nie zostały jeszcze wysłane. Nie przepadły: prosimy pozostawić tę stronę otwartą i wysłać je ponownie, gdy nadejdzie Państwa kolej.

updates = Ta strona odświeża się sama.
updated = Ostatnia aktualizacja:
offline = Połączenie zostało przerwane. Państwa miejsce jest zachowane, a my próbujemy dalej.
online = Połączenie zostało przywrócone.
cookies = Ta strona wymaga plików cookie, aby zachować Państwa miejsce.
button-again = Spróbuj ponownie
button-send = Wyślij ponownie

seconds = { $count ->
    [one] { $count } sekunda
    [few] { $count } sekundy
    [many] { $count } sekund
   *[other] { $count } sekundy
}
minutes = { $count ->
    [one] { $count } minuta
    [few] { $count } minuty
    [many] { $count } minut
   *[other] { $count } minuty
}
hours = { $count ->
    [one] { $count } godzina
    [few] { $count } godziny
    [many] { $count } godzin
   *[other] { $count } godziny
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minuta
    [few] { $low }–{ $count } minuty
    [many] { $low }–{ $count } minut
   *[other] { $low }–{ $count } minuty
}
hours-range = { $count ->
    [one] { $low }–{ $count } godzina
    [few] { $low }–{ $count } godziny
    [many] { $low }–{ $count } godzin
   *[other] { $low }–{ $count } godziny
}

stop = { $text }.

ahead-none = Nikt nie stoi przed Państwem
line-about = { $count ->
    [one] Czeka około { $shown } osoba
    [few] Czekają około { $shown } osoby
    [many] Czeka około { $shown } osób
   *[other] Czeka około { $shown } osoby
}
slower = Czas oczekiwania wydłużył się, ponieważ wpuszczanie przebiega wolniej.
returned = Czas oczekiwania wydłużył się, ponieważ teraz przed Państwem jest więcej osób.
retries = Ta strona sama spróbuje ponownie.
support = Pomoc i kontakt

event-start = Do rozpoczęcia pozostało: { $span }.
event-lot = Państwa miejsce zostanie wylosowane na początku
event-number = Państwa numer w losowaniu to { $shown }.
event-proof = Losowanie każdy może później sprawdzić. Jego zobowiązanie (commitment) to { $text }.
event-result = Państwa numer { $low } z { $count } otrzymał w losowaniu miejsce { $shown }.
event-seed = Losowanie każdy może obliczyć ponownie. Jego ziarno (seed) to { $text }.

transfer-here = Kontynuuj tutaj z lepszym miejscem z obu urządzeń
transfer-link = Otwórz ten link na drugim urządzeniu w ciągu kilku minut. Nie udostępniaj go: daje dostęp do Twojego miejsca.
transfer-offer = Kontynuuj na innym urządzeniu
transfer-void = Ten link nie jest już ważny. Poproś o nowy na drugim urządzeniu.
