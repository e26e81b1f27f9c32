### Српски. The arguments are described in `en.ftl`.

title-position = Бр. { $shown } у реду
title-waiting = Чекање
title-turn = Ви сте на реду

headline-busy = Тренутно је овде много људи
headline-closed = Нажалост, нема слободних места
headline-draining = Ред је затворен
headline-full = Ред је пун
headline-key = У овом захтеву нешто недостаје
headline-network = Многи из ваше мреже већ чекају у реду
headline-rate = То је било мало пребрзо
headline-setup = Овај сервис није исправно подешен
headline-turn = Ви сте на реду
headline-unavailable = Само тренутак, молимо
headline-waiting = Налазите се у реду за чекање

detail-busy = Сва места су тренутно заузета.
detail-closed = Тренутно нико више не може да уђе.
detail-draining = Сви који су већ у реду биће услужени, али више није могуће придружити му се.
detail-full = Чека више људи него што ред може да прими.
detail-key = Из захтева се не види ко га је послао.
detail-network = Ваша мрежа већ има онолико места у реду колико једна мрежа сме да има.
detail-rate = Од вас је за кратко време стигло превише захтева.
detail-setup = Нисте погрешили. У дневнику сервера пише како се то решава.
detail-unavailable = Код нас нешто не ради како треба. Ускоро ће бити исправљено.

position = Ви сте број { $shown } у реду
position-about = Ви сте отприлике број { $shown } у реду
position-first = Следећи сте на реду
position-lot = Ваш ред се одређује жребом
position-pending = Проналазимо ваше место
ahead = { $count ->
    [one] Отприлике { $shown } особа је испред вас
    [few] Отприлике { $shown } особе су испред вас
   *[other] Отприлике { $shown } особа је испред вас
}

wait-about = Процењено чекање: отприлике { $span }.
wait-long = Процењено чекање: више од једног дана.
wait-paused = Тренутно се нико не пропушта. Још не можемо да кажемо колико ће то трајати.
wait-short = Процењено чекање: мање од једног минута.
wait-unknown = Још не можемо да кажемо колико ће то трајати.

keep = Ову картицу можете да затворите, а да не изгубите место. Место се чува: { $span }.
again = Покушајте поново касније. Преостало време: { $span }.
unsent = Подаци које сте унели још нису послати. Нису изгубљени: оставите ову страницу отворену и пошаљите их поново када будете на реду.

updates = Ова страница се сама ажурира.
updated = Последње ажурирање:
offline = Веза је прекинута. Ваше место је сачувано и настављамо да покушавамо.
online = Веза је поново успостављена.
cookies = Овој страници су потребни колачићи да би сачувала ваше место.
button-again = Покушај поново
button-send = Пошаљи поново

seconds = { $count ->
    [one] { $count } секунда
    [few] { $count } секунде
   *[other] { $count } секунди
}
minutes = { $count ->
    [one] { $count } минут
    [few] { $count } минута
   *[other] { $count } минута
}
hours = { $count ->
    [one] { $count } сат
    [few] { $count } сата
   *[other] { $count } сати
}
minutes-range = { $count ->
    [one] { $low }–{ $count } минут
    [few] { $low }–{ $count } минута
   *[other] { $low }–{ $count } минута
}
hours-range = { $count ->
    [one] { $low }–{ $count } сат
    [few] { $low }–{ $count } сата
   *[other] { $low }–{ $count } сати
}

stop = { $text }.

ahead-none = Нико није испред вас
line-about = { $count ->
    [one] Чека отприлике { $shown } особа
    [few] Чекају отприлике { $shown } особе
   *[other] Чека отприлике { $shown } особа
}
slower = Чекање се продужило јер се људи спорије пропуштају.
returned = Чекање се продужило јер је сада испред вас више људи.
retries = Ова страница сама покушава поново.
support = Помоћ и контакт

event-start = До почетка преостаје: { $span }.
event-lot = Ваше место се извлачи жребом на почетку
event-number = Ваш број у жребу је { $shown }.
event-proof = Жреб после тога може да провери свако. Његова обавезујућа вредност (commitment) је { $text }.
event-result = Ваш број { $low } од { $count } добио је у жребу место { $shown }.
event-seed = Жреб свако може поново да израчуна. Његова почетна вредност (seed) је { $text }.
