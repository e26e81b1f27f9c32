### Čeština. The arguments are described in `en.ftl`.

title-position = Č. { $shown } ve frontě
title-waiting = Čekání
title-turn = Jste na řadě

headline-busy = Právě je tu hodně lidí
headline-closed = Omlouváme se, je obsazeno
headline-draining = Fronta je uzavřena
headline-full = Fronta je plná
headline-key = V tomto požadavku něco chybí
headline-network = Z vaší sítě už čeká mnoho lidí
headline-rate = To bylo trochu příliš rychle
headline-setup = Tato služba není správně nastavena
headline-turn = Jste na řadě
headline-unavailable = Okamžik, prosím
headline-waiting = Jste ve frontě

detail-busy = Všechna místa jsou právě obsazena.
detail-closed = Momentálně nemůže vstoupit nikdo další.
detail-draining = Všichni, kdo už ve frontě jsou, se na řadu dostanou, ale nikdo další se už nemůže zařadit.
detail-full = Čeká více lidí, než kolik se do fronty vejde.
detail-key = Není z něj zřejmé, kdo jej odeslal.
detail-network = Vaše síť má ve frontě tolik míst, kolik jedna síť smí mít.
detail-rate = Za krátkou dobu od vás přišlo příliš mnoho požadavků.
detail-setup = Neudělali jste nic špatně. V protokolu serveru je uvedeno, jak to opravit.
detail-unavailable = Na naší straně něco nefunguje, jak má. Brzy to bude v pořádku.

position = Jste číslo { $shown } ve frontě
position-about = Jste přibližně číslo { $shown } ve frontě
position-first = Jste další na řadě
position-lot = Vaše pořadí určí los
position-pending = Zjišťujeme vaše místo
ahead = { $count ->
    [one] Před vámi je přibližně { $shown } člověk
    [few] Před vámi jsou přibližně { $shown } lidé
   *[other] Před vámi je přibližně { $shown } lidí
}

wait-about = Odhadovaná doba čekání: přibližně { $span }.
wait-long = Odhadovaná doba čekání: více než jeden den.
wait-paused = Právě není vpouštěn nikdo. Zatím nedokážeme říci, jak dlouho to bude trvat.
wait-short = Odhadovaná doba čekání: méně než minuta.
wait-unknown = Zatím nedokážeme říci, jak dlouho to bude trvat.

keep = Tuto kartu můžete zavřít, aniž byste přišli o místo. Místo držíme po dobu: { $span }.
again = Zkuste to prosím znovu později. Zbývající čas: { $span }.
unsent = Zadané údaje zatím nebyly odeslány. Nejsou ztraceny: nechte tuto stránku otevřenou a odešlete je znovu, až budete na řadě.

updates = Tato stránka se aktualizuje sama.
updated = Poslední aktualizace:
offline = Spojení je přerušeno. Vaše místo je zachováno a stále se pokoušíme připojit.
online = Spojení je obnoveno.
cookies = Tato stránka potřebuje soubory cookie, aby vám podržela místo.
button-again = Zkusit znovu
button-send = Odeslat znovu

seconds = { $count ->
    [one] { $count } sekunda
    [few] { $count } sekundy
   *[other] { $count } sekund
}
minutes = { $count ->
    [one] { $count } minuta
    [few] { $count } minuty
   *[other] { $count } minut
}
hours = { $count ->
    [one] { $count } hodina
    [few] { $count } hodiny
   *[other] { $count } hodin
}
minutes-range = { $count ->
    [one] { $low }–{ $count } minuta
    [few] { $low }–{ $count } minuty
   *[other] { $low }–{ $count } minut
}
hours-range = { $count ->
    [one] { $low }–{ $count } hodina
    [few] { $low }–{ $count } hodiny
   *[other] { $low }–{ $count } hodin
}

stop = { $text }.

ahead-none = Nikdo není před vámi
line-about = { $count ->
    [one] Čeká přibližně { $shown } člověk
    [few] Čekají přibližně { $shown } lidé
   *[other] Čeká přibližně { $shown } lidí
}
slower = Čekání se prodloužilo, protože jsou lidé vpouštěni pomaleji.
returned = Čekání se prodloužilo, protože je před vámi nyní více lidí.
retries = Tato stránka to zkusí znovu sama.
support = Pomoc a kontakt

event-start = Do začátku zbývá: { $span }.
event-lot = Vaše místo se na začátku vylosuje
event-number = Vaše číslo v losování je { $shown }.
event-proof = Losování si potom může každý ověřit. Jeho závazek (commitment) je { $text }.
event-result = Vaše číslo { $low } z { $count } získalo v losování místo { $shown }.
event-seed = Losování si může každý přepočítat. Jeho počáteční hodnota (seed) je { $text }.

transfer-here = Pokračovat zde s lepším místem z obou zařízení
transfer-link = Otevřete tento odkaz na druhém zařízení během několika minut. Nesdílejte ho: dává přístup k vašemu místu.
transfer-offer = Pokračovat na jiném zařízení
transfer-void = Tento odkaz již neplatí. Vyžádejte si nový na druhém zařízení.
