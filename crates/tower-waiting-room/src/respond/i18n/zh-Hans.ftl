### 中文。`$shown` 是写出来的数字，`$span` 是一段时间，例如“5 分钟”。

title-position = 排在第 { $shown } 位
title-waiting = 排队中
title-turn = 轮到您了

headline-busy = 现在人很多
headline-closed = 抱歉，人数已满
headline-draining = 排队已关闭
headline-full = 队伍已满
headline-key = 此请求缺少必要的内容
headline-network = 您所在的网络已有很多人在排队
headline-rate = 操作有点太快了
headline-setup = 此服务的设置不正确
headline-turn = 轮到您了
headline-unavailable = 请稍候
headline-waiting = 您正在排队

detail-busy = 所有名额暂时都已被占用。
detail-closed = 目前无法再进入。
detail-draining = 已在队伍中的人仍会依次进入，但现在不能再加入排队。
detail-full = 等待的人数超过了队伍的容量。
detail-key = 无法确定请求来自谁。
detail-network = 您所在的网络在队伍中的位置数已达到一个网络的上限。
detail-rate = 您在短时间内发送了过多请求。
detail-setup = 这不是您的问题。服务器日志说明了解决方法。
detail-unavailable = 我们这边出了一点问题，很快就会恢复。

position = 您排在第 { $shown } 位
position-about = 您大约排在第 { $shown } 位
position-first = 下一个就是您
position-lot = 进入顺序由抽签决定
position-pending = 正在为您取号
ahead = 您前面大约有 { $shown } 人

wait-about = 预计等待时间：约 { $span }。
wait-long = 预计等待时间：超过一天。
wait-paused = 目前暂停放行，还无法确定需要多长时间。
wait-short = 预计等待时间：不到一分钟。
wait-unknown = 还无法确定需要多长时间。

keep = 您可以关闭此标签页 { $span }而不会失去您的位置。
again = 请在 { $span }后重试。
unsent = 您填写的内容尚未发送，但没有丢失：请保持此页面打开，轮到您时再次发送。

updates = 此页面会自动更新。
updated = 最后更新时间：
offline = 连接已中断。您的位置会保留，我们会继续尝试。
online = 连接已恢复。
cookies = 此页面需要使用 Cookie 来保留您的位置。
button-again = 重试
button-send = 再次发送

seconds = { $count } 秒
minutes = { $count } 分钟
hours = { $count } 小时
minutes-range = { $low } 至 { $count } 分钟
hours-range = { $low } 至 { $count } 小时

stop = { $text }。

ahead-none = 您前面没有人
line-about = 大约有 { $shown } 人正在等待
slower = 等待时间变长了，因为放行速度变慢了。
returned = 等待时间变长了，因为现在排在您前面的人更多了。
retries = 此页面会自动重试。
support = 帮助与联系方式

event-start = 将在 { $span }后开始。
event-lot = 开始时将抽签决定您的位置
event-number = 您的抽签号码是 { $shown }。
event-proof = 任何人事后都可以验证抽签结果，其承诺值为 { $text }。
event-result = 共 { $count } 个号码，您的号码 { $low } 抽到第 { $shown } 位。
event-seed = 任何人都可以重新计算抽签结果，其种子为 { $text }。

transfer-here = 使用两台设备中更靠前的位置在此继续
transfer-link = 请在几分钟内用另一台设备打开此链接。请勿分享：凭此链接可使用您的位置。
transfer-offer = 在另一台设备上继续
transfer-void = 此链接已失效。请在另一台设备上获取新链接。
