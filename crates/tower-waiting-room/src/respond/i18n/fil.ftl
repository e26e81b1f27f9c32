### Filipino. The arguments are described in `en.ftl`.

title-position = Bilang { $shown } sa pila
title-waiting = Naghihintay
title-turn = Kayo na po

headline-busy = Marami pong tao rito ngayon
headline-closed = Paumanhin, puno na po kami
headline-draining = Sarado na ang pila
headline-full = Puno na ang pila
headline-key = May kulang sa kahilingang ito
headline-network = Marami na sa inyong network ang nakapila
headline-rate = Medyo mabilis po iyon
headline-setup = Hindi wasto ang pagkaka-set up ng serbisyong ito
headline-turn = Kayo na po
headline-unavailable = Sandali lamang po
headline-waiting = Nakapila na kayo

detail-busy = Okupado ang lahat ng puwesto sa ngayon.
detail-closed = Wala nang ibang makapapasok sa ngayon.
detail-draining = Pagsisilbihan pa ang lahat ng nakapila, ngunit wala nang maaaring sumali sa pila.
detail-full = Mas marami ang naghihintay kaysa sa kasya sa pila.
detail-key = Hindi nito sinasabi kung sino ang nagpadala.
detail-network = Ang inyong network ay may pinakamaraming puwesto na sa pila na pinapayagan para sa isang network.
detail-rate = Masyadong maraming kahilingan ang dumating mula sa inyo sa maikling panahon.
detail-setup = Wala kayong ginawang mali. Nakasaad sa log ng server kung paano ito ayusin.
detail-unavailable = May hindi gumagana nang tama sa aming panig. Babalik ito sa lalong madaling panahon.

position = Kayo ay bilang { $shown } sa pila
position-about = Kayo ay humigit-kumulang bilang { $shown } sa pila
position-first = Kayo na ang susunod sa pila
position-lot = Sa palabunutan malalaman ang inyong turno
position-pending = Kinukuha namin ang inyong puwesto
ahead = { $count ->
    [one] Humigit-kumulang { $shown } tao ang nauuna sa inyo
   *[other] Humigit-kumulang { $shown } na tao ang nauuna sa inyo
}

wait-about = Tinatayang paghihintay: humigit-kumulang { $span }.
wait-long = Tinatayang paghihintay: mahigit isang araw.
wait-paused = Wala munang pinapapasok sa ngayon. Hindi pa namin masabi kung gaano ito katagal.
wait-short = Tinatayang paghihintay: wala pang isang minuto.
wait-unknown = Hindi pa namin masabi kung gaano ito katagal.

keep = Maaari ninyong isara ang tab na ito nang { $span } nang hindi nawawala ang inyong puwesto.
again = Pakisubukang muli pagkalipas ng { $span }.
unsent = Hindi pa naipapadala ang inilagay ninyo. Hindi ito nawala: panatilihing bukas ang pahinang ito at ipadala itong muli kapag kayo na.

updates = Kusang nag-a-update ang pahinang ito.
updated = Huling na-update noong
offline = Naputol ang koneksyon. Nakalaan pa rin ang inyong puwesto, at patuloy kaming sumusubok.
online = Bumalik na ang koneksyon.
cookies = Kailangan ng pahinang ito ng cookies upang mapanatili ang inyong puwesto.
button-again = Subukang muli
button-send = Ipadalang muli

seconds = { $count ->
    [one] { $count } segundo
   *[other] { $count } na segundo
}
minutes = { $count ->
    [one] { $count } minuto
   *[other] { $count } na minuto
}
hours = { $count ->
    [one] { $count } oras
   *[other] { $count } na oras
}
minutes-range = { $count ->
    [one] { $low } hanggang { $count } minuto
   *[other] { $low } hanggang { $count } na minuto
}
hours-range = { $count ->
    [one] { $low } hanggang { $count } oras
   *[other] { $low } hanggang { $count } na oras
}

stop = { $text }.

ahead-none = Walang nauuna sa inyo
line-about = { $count ->
    [one] Humigit-kumulang { $shown } tao ang naghihintay
   *[other] Humigit-kumulang { $shown } na tao ang naghihintay
}
slower = Humaba ang paghihintay dahil mas mabagal ang pagpapapasok.
returned = Humaba ang paghihintay dahil mas marami na ngayon ang mga taong nauuna sa inyo.
retries = Kusang sumusubok muli ang pahinang ito.
support = Tulong at pakikipag-ugnayan

event-start = Magsisimula sa loob ng { $span }.
event-lot = Bubunutin ang iyong puwesto sa simula
event-number = Ang numero mo sa bunutan ay { $shown }.
event-proof = Maaaring suriin ng sinuman ang bunutan pagkatapos. Ang commitment nito ay { $text }.
event-result = Ang numero mong { $low } sa { $count } ay nakakuha ng puwestong { $shown } sa bunutan.
event-seed = Maaaring kuwentahing muli ng sinuman ang bunutan. Ang seed nito ay { $text }.

transfer-here = Magpatuloy dito gamit ang mas magandang puwesto sa dalawang device
transfer-link = Buksan ang link na ito sa kabilang device sa loob ng ilang minuto. Huwag itong ibahagi: nagbibigay ito ng access sa puwesto mo.
transfer-offer = Magpatuloy sa ibang device
transfer-void = Hindi na valid ang link na ito. Humingi ng bago sa kabilang device.
