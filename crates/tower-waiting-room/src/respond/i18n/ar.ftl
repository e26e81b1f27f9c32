### العربية. The arguments are described in `en.ftl`.

title-position = الرقم { $shown } في الصف
title-waiting = قيد الانتظار
title-turn = حان دورك

headline-busy = يوجد عدد كبير من الأشخاص هنا الآن
headline-closed = عذرًا، اكتمل العدد
headline-draining = الصف مغلق
headline-full = الصف ممتلئ
headline-key = هذا الطلب ينقصه شيء
headline-network = يوجد بالفعل كثيرون من شبكتك في الصف
headline-rate = كان ذلك أسرع من اللازم
headline-setup = هذه الخدمة غير مهيأة بشكل صحيح
headline-turn = حان دورك
headline-unavailable = لحظة من فضلك
headline-waiting = أنت في صف الانتظار

detail-busy = جميع الأماكن مشغولة حاليًا.
detail-closed = لا يمكن دخول أي شخص آخر حاليًا.
detail-draining = ستتم خدمة جميع الموجودين في الصف، لكن لم يعد الانضمام إليه ممكنًا.
detail-full = عدد المنتظرين أكبر من سعة الصف.
detail-key = لا يوضح الطلب الجهة التي أرسلته.
detail-network = تشغل شبكتك في الصف أكبر عدد من الأماكن المسموح به لشبكة واحدة.
detail-rate = وصل منك عدد كبير من الطلبات خلال وقت قصير.
detail-setup = لم ترتكب أي خطأ. يوضح سجل الخادم كيفية إصلاح ذلك.
detail-unavailable = هناك خلل لدينا، وستعود الخدمة قريبًا.

position = أنت رقم { $shown } في الصف
position-about = أنت رقم { $shown } تقريبًا في الصف
position-first = أنت التالي في الصف
position-lot = يُحدَّد دورك بالقرعة
position-pending = جارٍ الحصول على مكانك
ahead = { $count ->
    [zero] أمامك حوالي { $shown } شخص
    [one] أمامك حوالي { $shown } شخص
    [two] أمامك حوالي { $shown } شخص
    [few] أمامك حوالي { $shown } أشخاص
    [many] أمامك حوالي { $shown } شخصًا
   *[other] أمامك حوالي { $shown } شخص
}

wait-about = مدة الانتظار المتوقعة: حوالي { $span }.
wait-long = مدة الانتظار المتوقعة: أكثر من يوم.
wait-paused = الدخول متوقف حاليًا. لا يمكننا بعد تحديد المدة التي سيستغرقها ذلك.
wait-short = مدة الانتظار المتوقعة: أقل من دقيقة.
wait-unknown = لا يمكننا بعد تحديد المدة التي سيستغرقها ذلك.

keep = يمكنك إغلاق علامة التبويب هذه دون أن تفقد مكانك. مدة الاحتفاظ به: { $span }.
again = يُرجى إعادة المحاولة لاحقًا. المدة المتبقية: { $span }.
unsent = لم يُرسَل ما أدخلته بعد، لكنه لم يُفقد: أبقِ هذه الصفحة مفتوحة، ثم أرسله مرة أخرى عندما يحين دورك.

updates = تُحدَّث هذه الصفحة تلقائيًا.
updated = آخر تحديث:
offline = انقطع الاتصال. مكانك محفوظ، وسنواصل المحاولة.
online = عاد الاتصال.
cookies = تحتاج هذه الصفحة إلى ملفات تعريف الارتباط للاحتفاظ بمكانك.
button-again = إعادة المحاولة
button-send = إعادة الإرسال

seconds = { $count ->
    [zero] { $count } ثانية
    [one] ثانية واحدة
    [two] ثانيتان
    [few] { $count } ثوانٍ
    [many] { $count } ثانية
   *[other] { $count } ثانية
}
minutes = { $count ->
    [zero] { $count } دقيقة
    [one] دقيقة واحدة
    [two] دقيقتان
    [few] { $count } دقائق
    [many] { $count } دقيقة
   *[other] { $count } دقيقة
}
hours = { $count ->
    [zero] { $count } ساعة
    [one] ساعة واحدة
    [two] ساعتان
    [few] { $count } ساعات
    [many] { $count } ساعة
   *[other] { $count } ساعة
}
minutes-range = { $count ->
    [zero] من { $low } إلى { $count } دقيقة
    [one] من { $low } إلى { $count } دقيقة
    [two] من { $low } إلى { $count } دقيقة
    [few] من { $low } إلى { $count } دقائق
    [many] من { $low } إلى { $count } دقيقة
   *[other] من { $low } إلى { $count } دقيقة
}
hours-range = { $count ->
    [zero] من { $low } إلى { $count } ساعة
    [one] من { $low } إلى { $count } ساعة
    [two] من { $low } إلى { $count } ساعة
    [few] من { $low } إلى { $count } ساعات
    [many] من { $low } إلى { $count } ساعة
   *[other] من { $low } إلى { $count } ساعة
}

stop = { $text }.

ahead-none = لا أحد أمامك
line-about = { $count ->
    [zero] عدد المنتظرين حوالي { $shown } شخص
    [one] عدد المنتظرين حوالي { $shown } شخص
    [two] عدد المنتظرين حوالي { $shown } شخص
    [few] عدد المنتظرين حوالي { $shown } أشخاص
    [many] عدد المنتظرين حوالي { $shown } شخصًا
   *[other] عدد المنتظرين حوالي { $shown } شخص
}
slower = ازدادت مدة الانتظار لأن الدخول أصبح أبطأ.
returned = ازدادت مدة الانتظار لأن عددًا أكبر من الأشخاص صار أمامك.
retries = تعيد هذه الصفحة المحاولة تلقائيًا.
support = المساعدة والتواصل

event-start = الوقت المتبقي حتى البدء: { $span }.
event-lot = سيُحدَّد مكانك بالقرعة عند البدء
event-number = رقمك في القرعة هو { $shown }.
event-proof = يمكن لأي شخص التحقق من القرعة لاحقًا. قيمة الالتزام بها هي { $text }.
event-result = رقمك { $low } من أصل { $count } حصل على المكان { $shown } في القرعة.
event-seed = يمكن لأي شخص إعادة حساب القرعة. بذرتها هي { $text }.

transfer-here = متابعة هنا بالمكان الأفضل بين الجهازين
transfer-link = افتح هذا الرابط على الجهاز الآخر خلال بضع دقائق. لا تشاركه مع أحد: فهو يمنح مكانك.
transfer-offer = المتابعة على جهاز آخر
transfer-void = لم يعد هذا الرابط صالحًا. اطلب رابطًا جديدًا على الجهاز الآخر.
