### Svenska. The arguments are described in `en.ftl`.

title-position = Nr { $shown } i kön
title-waiting = Väntar
title-turn = Det är din tur

headline-busy = Det är många här just nu
headline-closed = Tyvärr är det fullt
headline-draining = Kön är stängd
headline-full = Kön är full
headline-key = Något saknas i den här förfrågan
headline-network = Många i ditt nätverk står redan i kön
headline-rate = Det gick lite för fort
headline-setup = Den här tjänsten är inte rätt inställd
headline-turn = Det är din tur
headline-unavailable = Ett ögonblick
headline-waiting = Du står i kö

detail-busy = Alla platser är upptagna just nu.
detail-closed = Ingen mer kan komma in just nu.
detail-draining = Alla som redan står i kön blir betjänade, men det går inte längre att ställa sig i den.
detail-full = Fler väntar än kön rymmer.
detail-key = Det framgår inte vem som har skickat den.
detail-network = Ditt nätverk har redan så många platser i kön som ett nätverk får ha.
detail-rate = Det kom för många förfrågningar från dig på kort tid.
detail-setup = Du har inte gjort något fel. I serverns logg står det hur felet åtgärdas.
detail-unavailable = Något hos oss fungerar inte som det ska. Det är snart i ordning igen.

position = Du är nummer { $shown } i kön
position-about = Du är ungefär nummer { $shown } i kön
position-first = Du är näst på tur
position-lot = Din tur avgörs genom lottning
position-pending = Vi hämtar din plats
ahead = { $count ->
    [one] Ungefär { $shown } person är före dig
   *[other] Ungefär { $shown } personer är före dig
}

wait-about = Beräknad väntetid: ungefär { $span }.
wait-long = Beräknad väntetid: mer än ett dygn.
wait-paused = Ingen släpps in just nu. Vi kan ännu inte säga hur lång tid det tar.
wait-short = Beräknad väntetid: mindre än en minut.
wait-unknown = Vi kan ännu inte säga hur lång tid det tar.

keep = Du kan stänga den här fliken i { $span } utan att förlora din plats.
again = Försök igen om { $span }.
unsent = Det du har fyllt i har inte skickats än. Det är inte förlorat: håll den här sidan öppen och skicka det igen när det är din tur.

updates = Den här sidan uppdateras av sig själv.
updated = Senast uppdaterad kl.
offline = Anslutningen är bruten. Din plats är kvar, och vi fortsätter att försöka.
online = Anslutningen är tillbaka.
cookies = Den här sidan behöver kakor för att behålla din plats.
button-again = Försök igen
button-send = Skicka igen

seconds = { $count ->
    [one] { $count } sekund
   *[other] { $count } sekunder
}
minutes = { $count ->
    [one] { $count } minut
   *[other] { $count } minuter
}
hours = { $count ->
    [one] { $count } timme
   *[other] { $count } timmar
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minut
   *[other] { $low }–{ $count } minuter
}
hours-range = { $count ->
    [one] { $low }–{ $count } timme
   *[other] { $low }–{ $count } timmar
}

stop = { $text }.

ahead-none = Ingen är före dig
line-about = { $count ->
    [one] Ungefär { $shown } person väntar
   *[other] Ungefär { $shown } personer väntar
}
slower = Väntetiden har blivit längre eftersom besökare släpps in långsammare.
returned = Väntetiden har blivit längre eftersom fler personer nu är före dig.
retries = Den här sidan försöker igen av sig själv.
support = Hjälp och kontakt

event-start = Det börjar om { $span }.
event-lot = Din plats lottas ut vid starten
event-number = Ditt nummer i lottningen är { $shown }.
event-proof = Vem som helst kan kontrollera lottningen efteråt. Dess bindande värde (commitment) är { $text }.
event-result = Ditt nummer { $low } av { $count } fick plats { $shown } i lottningen.
event-seed = Vem som helst kan räkna om lottningen. Dess startvärde (seed) är { $text }.

transfer-here = Fortsätt här med den bästa platsen från de två enheterna
transfer-link = Öppna den här länken på den andra enheten inom några minuter. Dela den inte: den ger tillgång till din plats.
transfer-offer = Fortsätt på en annan enhet
transfer-void = Länken är inte längre giltig. Be om en ny på den andra enheten.
