### Türkçe. The arguments are described in `en.ftl`.

title-position = Sırada { $shown }. kişi
title-waiting = Bekleniyor
title-turn = Sıra sizde

headline-busy = Şu anda burada çok sayıda kişi var
headline-closed = Üzgünüz, yer kalmadı
headline-draining = Sıra kapandı
headline-full = Sıra dolu
headline-key = Bu istekte bir şey eksik
headline-network = Ağınızdan çok sayıda kişi zaten sırada
headline-rate = Bu biraz fazla hızlı oldu
headline-setup = Bu hizmet doğru ayarlanmamış
headline-turn = Sıra sizde
headline-unavailable = Lütfen bir dakika bekleyin
headline-waiting = Sıradasınız

detail-busy = Şu anda tüm yerler dolu.
detail-closed = Şu anda başka kimse giremiyor.
detail-draining = Sıradaki herkese hizmet verilecek, ancak artık sıraya girilemiyor.
detail-full = Bekleyenlerin sayısı sıranın alabileceğinden fazla.
detail-key = Kimin gönderdiği belli değil.
detail-network = Ağınız sırada bir ağın sahip olabileceği en fazla sayıda yere sahip.
detail-rate = Kısa sürede sizden çok fazla istek geldi.
detail-setup = Siz bir hata yapmadınız. Sorunun nasıl giderileceği sunucu günlüğünde yazıyor.
detail-unavailable = Bizim tarafımızda bir şey gerektiği gibi çalışmıyor. Kısa sürede düzelecek.

position = Sırada { $shown }. kişisiniz
position-about = Sırada yaklaşık { $shown }. kişisiniz
position-first = Sıradaki kişi sizsiniz
position-lot = Sıranız kurayla belirleniyor
position-pending = Yeriniz alınıyor
ahead = { $count ->
    [one] Önünüzde yaklaşık { $shown } kişi var
   *[other] Önünüzde yaklaşık { $shown } kişi var
}

wait-about = Tahmini bekleme süresi: yaklaşık { $span }.
wait-long = Tahmini bekleme süresi: bir günden fazla.
wait-paused = Şu anda kimse içeri alınmıyor. Ne kadar süreceğini henüz söyleyemiyoruz.
wait-short = Tahmini bekleme süresi: bir dakikadan az.
wait-unknown = Ne kadar süreceğini henüz söyleyemiyoruz.

keep = Yerinizi kaybetmeden bu sekmeyi { $span } boyunca kapatabilirsiniz.
again = Lütfen { $span } sonra tekrar deneyin.
unsent = Girdiğiniz bilgiler henüz gönderilmedi. Kaybolmadı: bu sayfayı açık tutun ve sıra size geldiğinde yeniden gönderin.

updates = Bu sayfa kendiliğinden güncellenir.
updated = Son güncelleme:
offline = Bağlantı kesildi. Yeriniz korunuyor ve denemeye devam ediyoruz.
online = Bağlantı yeniden kuruldu.
cookies = Bu sayfanın yerinizi koruması için çerezler gereklidir.
button-again = Tekrar dene
button-send = Yeniden gönder

seconds = { $count ->
    [one] { $count } saniye
   *[other] { $count } saniye
}
minutes = { $count ->
    [one] { $count } dakika
   *[other] { $count } dakika
}
hours = { $count ->
    [one] { $count } saat
   *[other] { $count } saat
}
minutes-range = { $count ->
    [one] { $low }–{ $count } dakika
   *[other] { $low }–{ $count } dakika
}
hours-range = { $count ->
    [one] { $low }–{ $count } saat
   *[other] { $low }–{ $count } saat
}

stop = { $text }.

ahead-none = Önünüzde kimse yok
line-about = { $count ->
    [one] Yaklaşık { $shown } kişi bekliyor
   *[other] Yaklaşık { $shown } kişi bekliyor
}
slower = Ziyaretçiler daha yavaş alındığı için bekleme süresi uzadı.
returned = Şimdi önünüzde daha fazla kişi olduğu için bekleme süresi uzadı.
retries = Bu sayfa kendiliğinden tekrar dener.
support = Yardım ve iletişim

event-start = Başlamasına kalan süre: { $span }.
event-lot = Yeriniz başlangıçta kurayla belirlenecek
event-number = Kuradaki numaranız: { $shown }.
event-proof = Kurayı daha sonra herkes doğrulayabilir. Taahhüt değeri (commitment): { $text }.
event-result = { $count } numara arasındaki { $low } numaranız kurada { $shown }. sırayı aldı.
event-seed = Kurayı herkes yeniden hesaplayabilir. Tohum değeri (seed): { $text }.

transfer-here = İki cihazdan daha öndeki yerle burada devam edin
transfer-link = Bu bağlantıyı birkaç dakika içinde diğer cihazda açın. Paylaşmayın: sıranıza erişim sağlar.
transfer-offer = Başka bir cihazda devam edin
transfer-void = Bu bağlantı artık geçerli değil. Diğer cihazda yenisini isteyin.
