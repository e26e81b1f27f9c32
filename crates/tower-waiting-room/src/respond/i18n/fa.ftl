### فارسی. The arguments are described in `en.ftl`.

title-position = شمارهٔ { $shown } در صف
title-waiting = در انتظار
title-turn = نوبت شماست

headline-busy = در حال حاضر افراد زیادی اینجا هستند
headline-closed = متأسفیم، ظرفیت تکمیل است
headline-draining = صف بسته شده است
headline-full = صف پر است
headline-key = این درخواست چیزی کم دارد
headline-network = افراد زیادی از شبکهٔ شما از پیش در صف هستند
headline-rate = کمی بیش از حد سریع بود
headline-setup = این سرویس به‌درستی تنظیم نشده است
headline-turn = نوبت شماست
headline-unavailable = لطفاً کمی صبر کنید
headline-waiting = شما در صف هستید

detail-busy = در حال حاضر همهٔ جاها پر است.
detail-closed = در حال حاضر شخص دیگری نمی‌تواند وارد شود.
detail-draining = به همهٔ افراد حاضر در صف رسیدگی می‌شود، اما دیگر نمی‌توان به آن پیوست.
detail-full = شمار منتظران بیش از گنجایش صف است.
detail-key = مشخص نیست چه کسی آن را فرستاده است.
detail-network = شبکهٔ شما در صف به بیشترین تعداد جای مجاز برای یک شبکه رسیده است.
detail-rate = در مدت کوتاهی درخواست‌های زیادی از شما رسید.
detail-setup = شما اشتباهی نکرده‌اید. راه رفع مشکل در گزارش سرور آمده است.
detail-unavailable = بخشی از سامانهٔ ما درست کار نمی‌کند. به‌زودی برطرف می‌شود.

position = شما نفر { $shown } در صف هستید
position-about = شما حدوداً نفر { $shown } در صف هستید
position-first = نوبت بعدی از آنِ شماست
position-lot = نوبت شما با قرعه‌کشی تعیین می‌شود
position-pending = در حال یافتن جای شما هستیم
ahead = { $count ->
    [one] حدود { $shown } نفر جلوتر از شماست
   *[other] حدود { $shown } نفر جلوتر از شما هستند
}

wait-about = زمان تقریبی انتظار: حدود { $span }.
wait-long = زمان تقریبی انتظار: بیش از یک روز.
wait-paused = در حال حاضر به کسی اجازهٔ ورود داده نمی‌شود. هنوز نمی‌توانیم بگوییم چقدر طول می‌کشد.
wait-short = زمان تقریبی انتظار: کمتر از یک دقیقه.
wait-unknown = هنوز نمی‌توانیم بگوییم چقدر طول می‌کشد.

keep = می‌توانید این زبانه را به مدت { $span } ببندید، بدون آنکه جای خود را از دست بدهید.
again = لطفاً { $span } دیگر دوباره تلاش کنید.
unsent = آنچه وارد کرده‌اید هنوز ارسال نشده است، اما از بین نرفته است: این صفحه را باز نگه دارید و وقتی نوبتتان شد دوباره آن را ارسال کنید.

updates = این صفحه خودکار به‌روز می‌شود.
updated = آخرین به‌روزرسانی:
offline = ارتباط قطع شده است. جای شما محفوظ است و ما به تلاش ادامه می‌دهیم.
online = ارتباط دوباره برقرار شد.
cookies = این صفحه برای حفظ جای شما به کوکی نیاز دارد.
button-again = تلاش دوباره
button-send = ارسال دوباره

seconds = { $count ->
    [one] { $count } ثانیه
   *[other] { $count } ثانیه
}
minutes = { $count ->
    [one] { $count } دقیقه
   *[other] { $count } دقیقه
}
hours = { $count ->
    [one] { $count } ساعت
   *[other] { $count } ساعت
}
minutes-range = { $count ->
    [one] { $low } تا { $count } دقیقه
   *[other] { $low } تا { $count } دقیقه
}
hours-range = { $count ->
    [one] { $low } تا { $count } ساعت
   *[other] { $low } تا { $count } ساعت
}

stop = { $text }.

ahead-none = کسی جلوتر از شما نیست
line-about = { $count ->
    [one] حدود { $shown } نفر منتظر است
   *[other] حدود { $shown } نفر منتظر هستند
}
slower = زمان انتظار بیشتر شده است، زیرا ورود افراد کندتر شده است.
returned = زمان انتظار بیشتر شده است، زیرا اکنون افراد بیشتری جلوتر از شما هستند.
retries = این صفحه خودکار دوباره تلاش می‌کند.
support = راهنما و تماس

event-start = تا شروع: { $span }.
event-lot = جایگاه شما هنگام شروع با قرعه تعیین می‌شود
event-number = شمارهٔ شما در قرعه‌کشی { $shown } است.
event-proof = هر کسی می‌تواند بعداً قرعه‌کشی را بررسی کند. مقدار تعهد آن { $text } است.
event-result = شمارهٔ شما، { $low } از { $count }، در قرعه‌کشی جایگاه { $shown } را گرفت.
event-seed = هر کسی می‌تواند قرعه‌کشی را دوباره محاسبه کند. مقدار اولیهٔ (seed) آن { $text } است.
