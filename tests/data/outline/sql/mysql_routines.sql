CREATE TABLE `orders` (
  `id` int NOT NULL AUTO_INCREMENT,
  `state` enum('new','paid'),
  PRIMARY KEY (`id`),
  KEY `by_state` (`state`)
) ENGINE=InnoDB;
# a comment; with a semicolon
DELIMITER $$
CREATE PROCEDURE pay(IN order_id INT)
BEGIN
  IF order_id > 0 THEN
    UPDATE orders SET state = CASE WHEN 1 THEN 'paid' ELSE 'new' END WHERE id = order_id;
  END IF;
  WHILE order_id < 0 DO SET order_id = order_id + 1; END WHILE;
END$$
CREATE TRIGGER orders_bi BEFORE INSERT ON orders FOR EACH ROW SET NEW.state = 'it\'s new; ok'$$
DELIMITER ;
DROP TABLE old_orders;
