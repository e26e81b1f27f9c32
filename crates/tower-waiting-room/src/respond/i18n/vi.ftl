### Tiếng Việt. The arguments are described in `en.ftl`.

title-position = Số { $shown } trong hàng
title-waiting = Đang chờ
title-turn = Đã đến lượt quý khách

headline-busy = Hiện có rất nhiều người ở đây
headline-closed = Rất tiếc, đã hết chỗ
headline-draining = Hàng chờ đã đóng
headline-full = Hàng chờ đã đầy
headline-key = Yêu cầu này thiếu thông tin
headline-network = Nhiều người trong mạng của quý khách đã ở trong hàng chờ
headline-rate = Thao tác vừa rồi hơi nhanh
headline-setup = Dịch vụ này chưa được thiết lập đúng
headline-turn = Đã đến lượt quý khách
headline-unavailable = Vui lòng đợi giây lát
headline-waiting = Quý khách đang ở trong hàng chờ

detail-busy = Hiện tất cả các chỗ đều đã có người.
detail-closed = Hiện không ai khác có thể vào.
detail-draining = Những người đã ở trong hàng vẫn sẽ được phục vụ, nhưng không thể vào hàng thêm nữa.
detail-full = Số người chờ vượt quá sức chứa của hàng.
detail-key = Yêu cầu không cho biết ai đã gửi.
detail-network = Mạng của quý khách đã có số chỗ trong hàng bằng mức tối đa cho một mạng.
detail-rate = Quý khách đã gửi quá nhiều yêu cầu trong thời gian ngắn.
detail-setup = Quý khách không làm gì sai. Nhật ký máy chủ cho biết cách khắc phục.
detail-unavailable = Hệ thống của chúng tôi đang gặp sự cố và sẽ sớm hoạt động trở lại.

position = Quý khách là số { $shown } trong hàng
position-about = Quý khách ở khoảng số { $shown } trong hàng
position-first = Quý khách là người tiếp theo
position-lot = Lượt của quý khách được bốc thăm
position-pending = Chúng tôi đang lấy chỗ cho quý khách
ahead = Có khoảng { $shown } người ở trước quý khách

wait-about = Thời gian chờ dự kiến: khoảng { $span }.
wait-long = Thời gian chờ dự kiến: hơn một ngày.
wait-paused = Hiện đang tạm ngừng cho vào. Chúng tôi chưa thể cho biết sẽ mất bao lâu.
wait-short = Thời gian chờ dự kiến: chưa đến một phút.
wait-unknown = Chúng tôi chưa thể cho biết sẽ mất bao lâu.

keep = Quý khách có thể đóng thẻ này trong { $span } mà không mất chỗ.
again = Vui lòng thử lại sau { $span }.
unsent = Thông tin quý khách nhập chưa được gửi nhưng không bị mất: hãy giữ trang này mở và gửi lại khi đến lượt.

updates = Trang này tự động cập nhật.
updated = Cập nhật lần cuối lúc
offline = Mất kết nối. Chỗ của quý khách vẫn được giữ và chúng tôi đang tiếp tục thử.
online = Đã kết nối lại.
cookies = Trang này cần cookie để giữ chỗ cho quý khách.
button-again = Thử lại
button-send = Gửi lại

seconds = { $count } giây
minutes = { $count } phút
hours = { $count } giờ
minutes-range = { $low } đến { $count } phút
hours-range = { $low } đến { $count } giờ

stop = { $text }.

ahead-none = Không có ai ở trước quý khách
line-about = Có khoảng { $shown } người đang chờ
slower = Thời gian chờ tăng vì tốc độ cho vào chậm hơn.
returned = Thời gian chờ tăng vì hiện có nhiều người hơn ở trước quý khách.
retries = Trang này tự động thử lại.
support = Trợ giúp và liên hệ

event-start = Sẽ bắt đầu sau { $span }.
event-lot = Vị trí của bạn sẽ được bốc thăm khi bắt đầu
event-number = Số bốc thăm của bạn là { $shown }.
event-proof = Sau đó, ai cũng có thể kiểm tra kết quả bốc thăm. Giá trị cam kết là { $text }.
event-result = Số { $low } trên { $count } của bạn nhận vị trí { $shown } khi bốc thăm.
event-seed = Ai cũng có thể tính lại kết quả bốc thăm. Giá trị khởi tạo (seed) là { $text }.

transfer-here = Tiếp tục tại đây với vị trí tốt hơn của hai thiết bị
transfer-link = Hãy mở liên kết này trên thiết bị kia trong vòng vài phút. Đừng chia sẻ: liên kết cho phép dùng vị trí của bạn.
transfer-offer = Tiếp tục trên thiết bị khác
transfer-void = Liên kết này không còn hiệu lực. Hãy yêu cầu liên kết mới trên thiết bị kia.
