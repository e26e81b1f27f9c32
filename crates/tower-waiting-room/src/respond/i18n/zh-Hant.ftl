### 繁體中文. The arguments are described in `en.ftl`.

title-position = 排在第 { $shown } 位
title-waiting = 排隊中
title-turn = 輪到您了

headline-busy = 目前人數眾多
headline-closed = 抱歉，名額已滿
headline-draining = 排隊已關閉
headline-full = 隊伍已滿
headline-key = 此要求缺少必要內容
headline-network = 您所在的網路已有許多人在排隊
headline-rate = 操作有點太快了
headline-setup = 此服務的設定不正確
headline-turn = 輪到您了
headline-unavailable = 請稍候
headline-waiting = 您正在排隊

detail-busy = 目前所有名額都已被佔用。
detail-closed = 目前無法再進入。
detail-draining = 已在隊伍中的人仍會依序進入，但現在無法再加入排隊。
detail-full = 等候人數超過隊伍的容量。
detail-key = 無法確認要求來自何人。
detail-network = 您所在的網路在隊伍中的位置數已達單一網路的上限。
detail-rate = 您在短時間內傳送了過多要求。
detail-setup = 這不是您的問題。伺服器記錄說明了解決方法。
detail-unavailable = 我們這邊出了一點狀況，很快就會恢復。

position = 您排在第 { $shown } 位
position-about = 您大約排在第 { $shown } 位
position-first = 下一位就是您
position-lot = 進入順序由抽籤決定
position-pending = 正在為您取號
ahead = 您前面大約有 { $shown } 人

wait-about = 預計等候時間：約 { $span }。
wait-long = 預計等候時間：超過一天。
wait-paused = 目前暫停放行，尚無法確定需要多久。
wait-short = 預計等候時間：不到一分鐘。
wait-unknown = 尚無法確定需要多久。

keep = 您可以關閉此分頁 { $span }，位置仍會保留。
again = 請在 { $span }後再試一次。
unsent = 您填寫的內容尚未送出，但並未遺失：請保持此頁面開啟，輪到您時再次送出。

updates = 此頁面會自動更新。
updated = 上次更新時間：
offline = 連線已中斷。您的位置會保留，我們會繼續嘗試。
online = 連線已恢復。
cookies = 此頁面需要使用 Cookie 才能保留您的位置。
button-again = 再試一次
button-send = 再次送出

seconds = { $count } 秒
minutes = { $count } 分鐘
hours = { $count } 小時
minutes-range = { $low } 至 { $count } 分鐘
hours-range = { $low } 至 { $count } 小時

stop = { $text }。

ahead-none = 您前面沒有人
line-about = 大約有 { $shown } 人正在等候
slower = 等候時間變長，因為目前放行速度變慢。
returned = 等候時間變長，因為現在排在您前面的人更多了。
retries = 此頁面會自動重試。
support = 說明與聯絡方式

event-start = 將在 { $span }後開始。
event-lot = 開始時將以抽籤決定您的位置
event-number = 您的抽籤號碼是 { $shown }。
event-proof = 任何人事後都可以驗證抽籤結果，其承諾值為 { $text }。
event-result = 共 { $count } 個號碼，您的號碼 { $low } 抽到第 { $shown } 位。
event-seed = 任何人都可以重新計算抽籤結果，其種子為 { $text }。

transfer-here = 使用兩部裝置中較前面的位置在此繼續
transfer-link = 請在幾分鐘內用另一部裝置開啟此連結。請勿分享：憑此連結可使用您的位置。
transfer-offer = 在另一部裝置上繼續
transfer-void = 此連結已失效。請在另一部裝置上取得新連結。
