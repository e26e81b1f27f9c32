### Bahasa Indonesia. The arguments are described in `en.ftl`.

title-position = No. { $shown } dalam antrean
title-waiting = Menunggu
title-turn = Sekarang giliran Anda

headline-busy = Saat ini banyak orang di sini
headline-closed = Maaf, sudah penuh
headline-draining = Antrean ditutup
headline-full = Antrean penuh
headline-key = Ada yang kurang dari permintaan ini
headline-network = Banyak orang di jaringan Anda sudah mengantre
headline-rate = Itu agak terlalu cepat
headline-setup = Layanan ini tidak dikonfigurasi dengan benar
headline-turn = Sekarang giliran Anda
headline-unavailable = Mohon tunggu sebentar
headline-waiting = Anda berada dalam antrean

detail-busy = Semua tempat sedang terisi.
detail-closed = Saat ini tidak ada lagi yang dapat masuk.
detail-draining = Semua yang sudah mengantre akan tetap dilayani, tetapi antrean tidak menerima orang baru lagi.
detail-full = Jumlah orang yang menunggu melebihi kapasitas antrean.
detail-key = Tidak diketahui siapa yang mengirimnya.
detail-network = Jaringan Anda sudah memiliki tempat dalam antrean sebanyak yang diizinkan untuk satu jaringan.
detail-rate = Terlalu banyak permintaan dari Anda dalam waktu singkat.
detail-setup = Anda tidak melakukan kesalahan. Log server menjelaskan cara memperbaikinya.
detail-unavailable = Ada yang tidak berfungsi sebagaimana mestinya di pihak kami. Layanan akan segera kembali.

position = Anda berada di nomor { $shown } dalam antrean
position-about = Anda berada di sekitar nomor { $shown } dalam antrean
position-first = Anda berikutnya dalam antrean
position-lot = Giliran Anda ditentukan melalui undian
position-pending = Kami sedang mengambil tempat Anda
ahead = Sekitar { $shown } orang berada di depan Anda

wait-about = Perkiraan waktu tunggu: sekitar { $span }.
wait-long = Perkiraan waktu tunggu: lebih dari sehari.
wait-paused = Saat ini tidak ada yang diizinkan masuk. Kami belum dapat memastikan berapa lama.
wait-short = Perkiraan waktu tunggu: kurang dari satu menit.
wait-unknown = Kami belum dapat memastikan berapa lama.

keep = Anda dapat menutup tab ini selama { $span } tanpa kehilangan tempat.
again = Silakan coba lagi dalam { $span }.
unsent = Data yang Anda isi belum terkirim. Data itu tidak hilang: biarkan halaman ini tetap terbuka dan kirim lagi saat giliran Anda tiba.

updates = Halaman ini diperbarui secara otomatis.
updated = Terakhir diperbarui pukul
offline = Koneksi terputus. Tempat Anda tetap tersimpan, dan kami terus mencoba.
online = Koneksi telah pulih.
cookies = Halaman ini memerlukan cookie untuk menyimpan tempat Anda.
button-again = Coba lagi
button-send = Kirim lagi

seconds = { $count } detik
minutes = { $count } menit
hours = { $count } jam
minutes-range = { $low } hingga { $count } menit
hours-range = { $low } hingga { $count } jam

stop = { $text }.

ahead-none = Tidak ada orang di depan Anda
line-about = Sekitar { $shown } orang sedang menunggu
slower = Waktu tunggu bertambah karena pengunjung masuk lebih lambat.
returned = Waktu tunggu bertambah karena sekarang ada lebih banyak orang di depan Anda.
retries = Halaman ini mencoba lagi secara otomatis.
support = Bantuan dan kontak

event-start = Dimulai dalam { $span }.
event-lot = Tempat Anda akan diundi saat dimulai
event-number = Nomor undian Anda adalah { $shown }.
event-proof = Siapa pun dapat memeriksa undian ini sesudahnya. Nilai komitmennya adalah { $text }.
event-result = Nomor Anda, { $low } dari { $count }, mendapat tempat { $shown } dalam undian.
event-seed = Siapa pun dapat menghitung ulang undian ini. Nilai awalnya (seed) adalah { $text }.

transfer-here = Lanjutkan di sini dengan tempat terbaik dari kedua perangkat
transfer-link = Buka tautan ini di perangkat lain dalam beberapa menit. Jangan bagikan: tautan ini memberi akses ke tempat Anda.
transfer-offer = Lanjutkan di perangkat lain
transfer-void = Tautan ini tidak berlaku lagi. Minta yang baru di perangkat lain.
