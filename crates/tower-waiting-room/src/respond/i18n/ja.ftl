### 日本語. The arguments are described in `en.ftl`.

title-position = 待ち順 { $shown } 番
title-waiting = お待ちください
title-turn = 順番になりました

headline-busy = ただいま大変混み合っています
headline-closed = 申し訳ございませんが、満員です
headline-draining = 受付を終了しました
headline-full = 待ち列が満員です
headline-key = リクエストに必要な情報がありません
headline-network = ご利用のネットワークから、すでに多くの方がお待ちです
headline-rate = 操作の間隔が短すぎます
headline-setup = このサービスは正しく設定されていません
headline-turn = 順番になりました
headline-unavailable = 少々お待ちください
headline-waiting = 順番をお待ちいただいています

detail-busy = 現在、すべての枠が使用中です。
detail-closed = 現在、新たにお入りいただくことはできません。
detail-draining = すでにお並びの方は順番にご案内しますが、新たにお並びいただくことはできません。
detail-full = お待ちの人数が上限を超えています。
detail-key = 送信元を確認できません。
detail-network = ご利用のネットワークに割り当てられる待ち順の上限に達しています。
detail-rate = 短時間に多くのリクエストが送信されました。
detail-setup = お客様の操作に問題はありません。対処方法はサーバーのログに記録されています。
detail-unavailable = システムに問題が発生しています。まもなく復旧する見込みです。

position = ただいま { $shown } 番目です
position-about = ただいま約 { $shown } 番目です
position-first = 次がお客様の順番です
position-lot = 順番は抽選で決まります
position-pending = 順番を確認しています
ahead = お客様の前に約 { $shown } 人お待ちです

wait-about = 予想待ち時間：約 { $span }。
wait-long = 予想待ち時間：1 日以上。
wait-paused = 現在、ご案内を停止しています。所要時間はまだわかりません。
wait-short = 予想待ち時間：1 分未満。
wait-unknown = 所要時間はまだわかりません。

keep = このタブを閉じても、{ $span }間は順番が保持されます。
again = { $span }後にもう一度お試しください。
unsent = 入力内容はまだ送信されていませんが、失われてはいません。このページを開いたままにして、順番になりましたらもう一度送信してください。

updates = このページは自動的に更新されます。
updated = 最終更新：
offline = 接続が切れました。順番は保持されています。引き続き接続を試みます。
online = 接続が回復しました。
cookies = 順番を保持するには Cookie が必要です。
button-again = もう一度試す
button-send = もう一度送信

seconds = { $count } 秒
minutes = { $count } 分
hours = { $count } 時間
minutes-range = { $low }～{ $count } 分
hours-range = { $low }～{ $count } 時間

stop = { $text }。

ahead-none = 前にお待ちの方はいません
line-about = 約 { $shown } 人お待ちです
slower = ご案内のペースが落ちたため、待ち時間が延びました。
returned = 先にお並びの方が増えたため、待ち時間が延びました。
retries = このページは自動的に再試行します。
support = ヘルプとお問い合わせ

event-start = 開始まで{ $span }です。
event-lot = 開始時に抽選で順番が決まります
event-number = 抽選番号は { $shown } です。
event-proof = 抽選は後から誰でも検証できます。コミットメントは { $text } です。
event-result = { $count } 件中 { $low } 番のあなたは、抽選で { $shown } 番目になりました。
event-seed = 抽選は誰でも再計算できます。シードは { $text } です。

transfer-here = 2 台のうち早いほうの順番でここで続ける
transfer-link = 数分以内に別の端末でこのリンクを開いてください。順番を引き継げるため、他の人には教えないでください。
transfer-offer = 別の端末で続ける
transfer-void = このリンクは無効になりました。別の端末で新しいリンクを取得してください。
