### עברית. The arguments are described in `en.ftl`.

title-position = מספר { $shown } בתור
title-waiting = בהמתנה
title-turn = הגיע תורך

headline-busy = יש כאן כרגע אנשים רבים
headline-closed = מצטערים, אין מקום
headline-draining = התור סגור
headline-full = התור מלא
headline-key = משהו חסר בבקשה הזו
headline-network = אנשים רבים מהרשת שלך כבר בתור
headline-rate = זה היה קצת מהר מדי
headline-setup = השירות הזה אינו מוגדר כראוי
headline-turn = הגיע תורך
headline-unavailable = רק רגע, בבקשה
headline-waiting = נמצאים בתור

detail-busy = כל המקומות תפוסים כרגע.
detail-closed = אף אחד נוסף לא יכול להיכנס כרגע.
detail-draining = כל מי שכבר בתור יקבל שירות, אך לא ניתן עוד להצטרף אליו.
detail-full = מספר הממתינים גדול מקיבולת התור.
detail-key = לא ניתן לדעת מי שלח אותה.
detail-network = לרשת שלך כבר יש בתור את מספר המקומות המרבי שמותר לרשת אחת.
detail-rate = הגיעו ממך בקשות רבות מדי בזמן קצר.
detail-setup = לא עשית שום דבר לא נכון. ביומן השרת מוסבר כיצד לתקן זאת.
detail-unavailable = משהו אצלנו אינו פועל כראוי. השירות יחזור בקרוב.

position = מקומך בתור הוא { $shown }
position-about = מקומך בתור הוא בערך { $shown }
position-first = התור הבא הוא שלך
position-lot = התור נקבע בהגרלה
position-pending = אנחנו מאתרים את מקומך
ahead = { $count ->
    [one] לפניך בתור אדם { $shown } בערך
    [two] לפניך בתור { $shown } אנשים בערך
   *[other] לפניך בתור { $shown } אנשים בערך
}

wait-about = זמן המתנה משוער: כ־{ $span }.
wait-long = זמן המתנה משוער: יותר מיממה.
wait-paused = הכניסה מושהית כרגע. עדיין איננו יכולים לומר כמה זמן זה יימשך.
wait-short = זמן המתנה משוער: פחות מדקה.
wait-unknown = עדיין איננו יכולים לומר כמה זמן זה יימשך.

keep = ניתן לסגור את הכרטיסייה הזו בלי לאבד את המקום. משך השמירה: { $span }.
again = נא לנסות שוב בעוד { $span }.
unsent = הפרטים שהוזנו טרם נשלחו. הם לא אבדו: יש להשאיר את הדף הזה פתוח ולשלוח אותם שוב כשיגיע תורך.

updates = הדף הזה מתעדכן מעצמו.
updated = עודכן לאחרונה בשעה
offline = החיבור נותק. מקומך נשמר ואנחנו ממשיכים לנסות.
online = החיבור חזר.
cookies = הדף הזה זקוק לקובצי Cookie כדי לשמור את מקומך.
button-again = ניסיון חוזר
button-send = שליחה חוזרת

seconds = { $count ->
    [one] שנייה אחת
    [two] { $count } שניות
   *[other] { $count } שניות
}
minutes = { $count ->
    [one] דקה אחת
    [two] { $count } דקות
   *[other] { $count } דקות
}
hours = { $count ->
    [one] שעה אחת
    [two] שעתיים
   *[other] { $count } שעות
}
minutes-range = { $count ->
    [one] { $low } עד { $count } דקות
    [two] { $low } עד { $count } דקות
   *[other] { $low } עד { $count } דקות
}
hours-range = { $count ->
    [one] { $low } עד { $count } שעות
    [two] { $low } עד { $count } שעות
   *[other] { $low } עד { $count } שעות
}

stop = { $text }.

ahead-none = אין אף אחד לפניך
line-about = { $count ->
    [one] ממתין אדם { $shown } בערך
    [two] ממתינים { $shown } אנשים בערך
   *[other] ממתינים { $shown } אנשים בערך
}
slower = זמן ההמתנה התארך משום שקצב הכניסה ירד.
returned = זמן ההמתנה התארך משום שיש כעת יותר אנשים לפניך.
retries = הדף הזה מנסה שוב מעצמו.
support = עזרה ויצירת קשר

event-start = הזמן שנותר עד ההתחלה: { $span }.
event-lot = המקום שלך ייקבע בהגרלה בזמן ההתחלה
event-number = המספר שלך בהגרלה הוא { $shown }.
event-proof = כל אחד יוכל לבדוק את ההגרלה לאחר מכן. ערך ההתחייבות שלה הוא { $text }.
event-result = המספר שלך, { $low } מתוך { $count }, קיבל בהגרלה את המקום { $shown }.
event-seed = כל אחד יכול לחשב את ההגרלה מחדש. ערך הזרע שלה הוא { $text }.

transfer-here = להמשיך כאן עם המקום הטוב יותר מבין שני המכשירים
transfer-link = יש לפתוח את הקישור הזה במכשיר השני בתוך כמה דקות. אין לשתף אותו: הוא נותן גישה למקום שלך.
transfer-offer = להמשיך במכשיר אחר
transfer-void = הקישור הזה כבר אינו תקף. יש לבקש קישור חדש במכשיר השני.
