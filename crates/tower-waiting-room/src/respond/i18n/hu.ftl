### Magyar. The arguments are described in `en.ftl`.

title-position = { $shown }. a sorban
title-waiting = Várakozás
title-turn = Ön következik

headline-busy = Jelenleg sokan vannak itt
headline-closed = Sajnáljuk, minden hely betelt
headline-draining = A sor lezárult
headline-full = A sor megtelt
headline-key = Ebből a kérésből hiányzik valami
headline-network = Az Ön hálózatából már sokan állnak a sorban
headline-rate = Ez egy kicsit túl gyors volt
headline-setup = Ez a szolgáltatás nincs megfelelően beállítva
headline-turn = Ön következik
headline-unavailable = Egy pillanat türelmet kérünk
headline-waiting = Ön a várakozási sorban van

detail-busy = Jelenleg minden hely foglalt.
detail-closed = Jelenleg senki más nem léphet be.
detail-draining = Mindenki, aki már a sorban áll, sorra kerül, de csatlakozni már nem lehet.
detail-full = Többen várnak, mint ahányan a sorba férnek.
detail-key = Nem derül ki belőle, hogy ki küldte.
detail-network = Az Ön hálózatának már annyi helye van a sorban, amennyi egy hálózatnak lehet.
detail-rate = Rövid idő alatt túl sok kérés érkezett Öntől.
detail-setup = Ön semmit sem rontott el. A kiszolgáló naplója leírja, hogyan javítható a hiba.
detail-unavailable = Valami nálunk nem működik megfelelően. Hamarosan helyreáll.

position = Ön a(z) { $shown }. a sorban
position-about = Ön körülbelül a(z) { $shown }. a sorban
position-first = Ön következik a sorban
position-lot = Az Ön sorát sorsolás dönti el
position-pending = Megkeressük az Ön helyét
ahead = { $count ->
    [one] Körülbelül { $shown } fő van Ön előtt
   *[other] Körülbelül { $shown } fő van Ön előtt
}

wait-about = Várható várakozás: körülbelül { $span }.
wait-long = Várható várakozás: több mint egy nap.
wait-paused = Jelenleg senkit sem engedünk be. Még nem tudjuk megmondani, mennyi ideig tart.
wait-short = Várható várakozás: kevesebb mint egy perc.
wait-unknown = Még nem tudjuk megmondani, mennyi ideig tart.

keep = Ezt a lapot bezárhatja anélkül, hogy elveszítené a helyét. A helyet eddig őrizzük meg: { $span }.
again = Kérjük, próbálja újra { $span } múlva.
unsent = Amit beírt, még nem lett elküldve. Nem veszett el: tartsa nyitva ezt az oldalt, és küldje el újra, amikor Ön következik.

updates = Ez az oldal magától frissül.
updated = Utolsó frissítés:
offline = A kapcsolat megszakadt. A helyét megőrizzük, és tovább próbálkozunk.
online = A kapcsolat helyreállt.
cookies = Ennek az oldalnak sütikre van szüksége a helye megőrzéséhez.
button-again = Próbálja újra
button-send = Küldés újra

seconds = { $count ->
    [one] { $count } másodperc
   *[other] { $count } másodperc
}
minutes = { $count ->
    [one] { $count } perc
   *[other] { $count } perc
}
hours = { $count ->
    [one] { $count } óra
   *[other] { $count } óra
}
minutes-range = { $count ->
    [one] { $low }–{ $count } perc
   *[other] { $low }–{ $count } perc
}
hours-range = { $count ->
    [one] { $low }–{ $count } óra
   *[other] { $low }–{ $count } óra
}

stop = { $text }.

ahead-none = Senki sincs Ön előtt
line-about = { $count ->
    [one] Körülbelül { $shown } fő várakozik
   *[other] Körülbelül { $shown } fő várakozik
}
slower = A várakozás hosszabb lett, mert lassabban engedjük be a látogatókat.
returned = A várakozás hosszabb lett, mert most többen állnak Ön előtt.
retries = Ez az oldal magától újra próbálkozik.
support = Segítség és kapcsolat

event-start = A kezdésig hátralévő idő: { $span }.
event-lot = A helyét a kezdéskor sorsoljuk ki
event-number = Az Ön száma a sorsoláson: { $shown }.
event-proof = A sorsolást utólag bárki ellenőrizheti. Az elkötelezési értéke (commitment): { $text }.
event-result = Az Ön száma ({ $low }, összesen { $count }) a sorsoláson ezt a helyet kapta: { $shown }.
event-seed = A sorsolást bárki újraszámolhatja. A kezdőértéke (seed): { $text }.

transfer-here = Folytatás itt a két eszköz közül a jobb hellyel
transfer-link = Nyissa meg ezt a hivatkozást a másik eszközön néhány percen belül. Ne ossza meg: hozzáférést ad a helyéhez.
transfer-offer = Folytatás másik eszközön
transfer-void = Ez a hivatkozás már nem érvényes. Kérjen újat a másik eszközön.
