### Bahasa Melayu. The arguments are described in `en.ftl`.

title-position = No. { $shown } dalam barisan
title-waiting = Menunggu
title-turn = Kini giliran anda

headline-busy = Ramai orang di sini sekarang
headline-closed = Maaf, kami sudah penuh
headline-draining = Barisan telah ditutup
headline-full = Barisan sudah penuh
headline-key = Ada sesuatu yang tiada dalam permintaan ini
headline-network = Ramai orang dalam rangkaian anda sudah beratur
headline-rate = Itu agak terlalu pantas
headline-setup = Perkhidmatan ini tidak disediakan dengan betul
headline-turn = Kini giliran anda
headline-unavailable = Sila tunggu sebentar
headline-waiting = Anda sedang beratur

detail-busy = Semua tempat telah diisi buat masa ini.
detail-closed = Tiada orang lain boleh masuk buat masa ini.
detail-draining = Semua yang sudah beratur akan dilayan, tetapi tiada sesiapa lagi boleh menyertai barisan.
detail-full = Bilangan orang yang menunggu melebihi kapasiti barisan.
detail-key = Ia tidak menyatakan siapa yang menghantarnya.
detail-network = Rangkaian anda sudah mempunyai bilangan tempat maksimum yang dibenarkan bagi satu rangkaian dalam barisan.
detail-rate = Terlalu banyak permintaan diterima daripada anda dalam masa yang singkat.
detail-setup = Anda tidak melakukan apa-apa kesilapan. Log pelayan menerangkan cara membetulkannya.
detail-unavailable = Sesuatu di pihak kami tidak berfungsi seperti sepatutnya. Perkhidmatan akan pulih sebentar lagi.

position = Anda nombor { $shown } dalam barisan
position-about = Anda lebih kurang nombor { $shown } dalam barisan
position-first = Anda yang seterusnya dalam barisan
position-lot = Giliran anda ditentukan melalui cabutan
position-pending = Kami sedang mendapatkan tempat anda
ahead = Kira-kira { $shown } orang berada di hadapan anda

wait-about = Anggaran masa menunggu: kira-kira { $span }.
wait-long = Anggaran masa menunggu: lebih daripada sehari.
wait-paused = Tiada sesiapa dibenarkan masuk buat masa ini. Kami belum dapat memastikan tempohnya.
wait-short = Anggaran masa menunggu: kurang daripada satu minit.
wait-unknown = Kami belum dapat memastikan tempohnya.

keep = Anda boleh menutup tab ini selama { $span } tanpa kehilangan tempat anda.
again = Sila cuba lagi dalam masa { $span }.
unsent = Maklumat yang anda masukkan belum dihantar. Maklumat itu tidak hilang: biarkan halaman ini terbuka dan hantar semula apabila tiba giliran anda.

updates = Halaman ini dikemas kini secara automatik.
updated = Kemas kini terakhir pada
offline = Sambungan terputus. Tempat anda dikekalkan dan kami terus mencuba.
online = Sambungan telah pulih.
cookies = Halaman ini memerlukan kuki untuk mengekalkan tempat anda.
button-again = Cuba lagi
button-send = Hantar semula

seconds = { $count } saat
minutes = { $count } minit
hours = { $count } jam
minutes-range = { $low } hingga { $count } minit
hours-range = { $low } hingga { $count } jam

stop = { $text }.

ahead-none = Tiada sesiapa di hadapan anda
line-about = Kira-kira { $shown } orang sedang menunggu
slower = Masa menunggu bertambah kerana kemasukan menjadi lebih perlahan.
returned = Masa menunggu bertambah kerana kini lebih ramai orang berada di hadapan anda.
retries = Halaman ini mencuba lagi secara automatik.
support = Bantuan dan hubungan

event-start = Bermula dalam { $span }.
event-lot = Tempat anda akan dicabut secara undian pada permulaan
event-number = Nombor anda dalam cabutan ialah { $shown }.
event-proof = Sesiapa sahaja boleh menyemak cabutan selepas itu. Nilai komitmennya ialah { $text }.
event-result = Nombor anda, { $low } daripada { $count }, mendapat tempat { $shown } dalam cabutan.
event-seed = Sesiapa sahaja boleh mengira semula cabutan. Nilai awalnya (seed) ialah { $text }.

transfer-here = Teruskan di sini dengan tempat yang lebih baik antara dua peranti
transfer-link = Buka pautan ini pada peranti lain dalam masa beberapa minit. Jangan kongsi: pautan ini memberi akses kepada tempat anda.
transfer-offer = Teruskan pada peranti lain
transfer-void = Pautan ini tidak sah lagi. Minta yang baharu pada peranti lain.
