### Latviešu. The arguments are described in `en.ftl`.

title-position = Nr. { $shown } rindā
title-waiting = Gaidīšana
title-turn = Ir pienākusi Jūsu kārta

headline-busy = Pašlaik šeit ir ļoti daudz cilvēku
headline-closed = Diemžēl brīvu vietu nav
headline-draining = Rinda ir slēgta
headline-full = Rinda ir pilna
headline-key = Šajā pieprasījumā kaut kā trūkst
headline-network = Daudzi no Jūsu tīkla jau gaida rindā
headline-rate = Tas bija mazliet par ātru
headline-setup = Šis pakalpojums nav pareizi iestatīts
headline-turn = Ir pienākusi Jūsu kārta
headline-unavailable = Lūdzu, uzgaidiet
headline-waiting = Jūs esat rindā

detail-busy = Pašlaik visas vietas ir aizņemtas.
detail-closed = Pašlaik neviens vairs nevar ienākt.
detail-draining = Visi, kas jau ir rindā, tiks apkalpoti, taču tai vairs nevar pievienoties.
detail-full = Gaidītāju ir vairāk, nekā rinda var uzņemt.
detail-key = Tajā nav norādīts sūtītājs.
detail-network = Jūsu tīklam rindā jau ir tik vietu, cik vienam tīklam drīkst būt.
detail-rate = Īsā laikā no Jums saņemts pārāk daudz pieprasījumu.
detail-setup = Jūs neko neizdarījāt nepareizi. Servera žurnālā ir norādīts, kā to novērst.
detail-unavailable = Mūsu pusē kaut kas nedarbojas, kā vajadzētu. Drīz viss tiks atjaunots.

position = Jūs esat { $shown }. rindā
position-about = Jūs esat aptuveni { $shown }. rindā
position-first = Jūs esat nākamais rindā
position-lot = Jūsu kārtu nosaka izloze
position-pending = Mēs noskaidrojam Jūsu vietu
ahead = { $count ->
    [zero] Pirms Jums ir aptuveni { $shown } cilvēku
    [one] Pirms Jums ir aptuveni { $shown } cilvēks
   *[other] Pirms Jums ir aptuveni { $shown } cilvēki
}

wait-about = Paredzamais gaidīšanas laiks: aptuveni { $span }.
wait-long = Paredzamais gaidīšanas laiks: vairāk nekā diena.
wait-paused = Pašlaik neviens netiek ielaists. Vēl nevaram pateikt, cik ilgi tas būs.
wait-short = Paredzamais gaidīšanas laiks: mazāk par minūti.
wait-unknown = Vēl nevaram pateikt, cik ilgi tas būs.

keep = Varat aizvērt šo cilni, nezaudējot vietu. Vieta tiek saglabāta: { $span }.
again = Lūdzu, mēģiniet vēlāk vēlreiz. Atlikušais laiks: { $span }.
unsent = Jūsu ievadītais vēl nav nosūtīts. Tas nav zudis: atstājiet šo lapu atvērtu un nosūtiet vēlreiz, kad pienāks Jūsu kārta.

updates = Šī lapa atjauninās pati.
updated = Pēdējoreiz atjaunināts:
offline = Savienojums ir pārtrūcis. Jūsu vieta ir saglabāta, un mēs turpinām mēģināt.
online = Savienojums ir atjaunots.
cookies = Šai lapai ir nepieciešamas sīkdatnes, lai saglabātu Jūsu vietu.
button-again = Mēģināt vēlreiz
button-send = Nosūtīt vēlreiz

seconds = { $count ->
    [zero] { $count } sekunžu
    [one] { $count } sekunde
   *[other] { $count } sekundes
}
minutes = { $count ->
    [zero] { $count } minūšu
    [one] { $count } minūte
   *[other] { $count } minūtes
}
hours = { $count ->
    [zero] { $count } stundu
    [one] { $count } stunda
   *[other] { $count } stundas
}
minutes-range = { $count ->
    [zero] { $low }–{ $count } minūšu
    [one] { $low }–{ $count } minūte
   *[other] { $low }–{ $count } minūtes
}
hours-range = { $count ->
    [zero] { $low }–{ $count } stundu
    [one] { $low }–{ $count } stunda
   *[other] { $low }–{ $count } stundas
}

stop = { $text }.

ahead-none = Pirms Jums neviena nav
line-about = { $count ->
    [zero] Gaida aptuveni { $shown } cilvēku
    [one] Gaida aptuveni { $shown } cilvēks
   *[other] Gaida aptuveni { $shown } cilvēki
}
slower = Gaidīšanas laiks ir pieaudzis, jo cilvēki tiek ielaisti lēnāk.
returned = Gaidīšanas laiks ir pieaudzis, jo pirms Jums tagad ir vairāk cilvēku.
retries = Šī lapa mēģina vēlreiz pati.
support = Palīdzība un saziņa

event-start = Līdz sākumam atlicis: { $span }.
event-lot = Jūsu vieta sākumā tiks izlozēta
event-number = Jūsu numurs izlozē ir { $shown }.
event-proof = Izlozi pēc tam var pārbaudīt ikviens. Tās saistību vērtība (commitment) ir { $text }.
event-result = Jūsu numurs { $low } no { $count } izlozē ieguva vietu { $shown }.
event-seed = Izlozi var pārrēķināt ikviens. Tās sākuma vērtība (seed) ir { $text }.

transfer-here = Turpināt šeit ar labāko vietu no abām ierīcēm
transfer-link = Atveriet šo saiti otrā ierīcē dažu minūšu laikā. Nedodiet to citiem: tā dod piekļuvi jūsu vietai.
transfer-offer = Turpināt citā ierīcē
transfer-void = Šī saite vairs nav derīga. Pieprasiet jaunu otrā ierīcē.
